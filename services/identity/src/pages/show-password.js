// A button shows what is typed as a password, for people on small keyboards. Nothing is needed from it without scripts.
for (const input of document.querySelectorAll('input[type=password][data-show]')) {
  const button = document.createElement('button');
  const hasFocus = document.activeElement === input;
  const row = document.createElement('span');
  const show = (isShown) => {
    input.type = isShown ? 'text' : 'password';
    button.textContent = isShown ? input.dataset.hide : input.dataset.show;
  };
  button.type = 'button';
  button.setAttribute('aria-controls', input.id);
  button.addEventListener('click', () => show(input.type === 'password'));
  // Browsers remember the text of other fields.
  input.form.addEventListener('submit', () => show(false));
  row.className = 'password';
  input.before(row);
  row.append(input, button);
  show(false);
  if (hasFocus) input.focus();
}
