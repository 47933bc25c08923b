// The form of a brand, and its preview beside it. Without a script, there is the form alone.
const look = document.querySelector('.look');
if (look) {
  const MAX_BYTES = 16 * 1024;
  const MAX_SIDE = 512;
  const { form } = document.querySelector('[name="logo_uri.file"]');
  const { elements } = form;
  const picture = form.querySelector('[name="logo_uri"]');
  const colours = new CSSStyleSheet();
  document.adoptedStyleSheets.push(colours);
  look.hidden = false;

  function show() {
    const isRemoved = elements['logo_uri.removed']?.checked && !elements['logo_uri.file'].value;
    for (const part of document.querySelectorAll('[data-of], .picture')) {
      const field = part.dataset.of ?? 'logo_uri';
      const { value } = field === 'logo_uri' ? picture : elements[field];
      if (field === 'name') part.textContent = value;
      else part.hidden = value.trim() === '' || (part.localName === 'img' && isRemoved);
      if (part.localName === 'img' && value !== '') part.src = value;
    }
    showColours();
  }

  // The stylesheets of the pages themselves, which keep colours readable, for the preview alone.
  let shown;
  async function showColours() {
    const colour = elements.primary_color.value.trim().toLowerCase();
    if (shown === colour) return;
    shown = colour;
    const isColour = /^#[\da-f]{6}$/.test(colour);
    const paths = look.dataset.sheets.split(' ').filter((path) => isColour || path.endsWith('.css'));
    const sheets = paths.map((path) =>
      fetch(path.endsWith('/') ? `${path}${colour.slice(1)}.css` : path).then((it) =>
        it.ok ? it.text() : '',
      ),
    );
    const css = (await Promise.all(sheets).catch(() => [])).join('\n');
    if (shown === colour) colours.replaceSync(css.replaceAll(/(:root[^{]*)\{/g, '$1 .look {'));
  }

  /** A PNG that fits, of a picture that may not; undefined if there is none. */
  async function toPng(file) {
    const bitmap = await createImageBitmap(file);
    const longest = Math.max(bitmap.width, bitmap.height);
    if (file.type === 'image/png' && file.size <= MAX_BYTES && longest <= MAX_SIDE) return file;
    for (let side = Math.min(MAX_SIDE, longest); side >= 16; side *= 0.85) {
      const [width, height] = [bitmap.width, bitmap.height].map((it) =>
        Math.max(1, Math.round((it * side) / longest)),
      );
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext('2d');
      context.imageSmoothingQuality = 'high';
      context.drawImage(bitmap, 0, 0, width, height);
      const blob = await canvas.convertToBlob({ type: 'image/png' });
      if (blob.size > MAX_BYTES) continue;
      return new File([blob], file.name.replace(/(\.\w+)?$/, `-${width}x${height}.png`), { type: blob.type });
    }
  }

  async function choose(input) {
    const [file] = input.files;
    const note = form.querySelector('[role=status]');
    const png = file && (await toPng(file).catch(() => undefined));
    input.setCustomValidity(file && !png ? 'This file is not a picture that can be read.' : '');
    input.reportValidity();
    note.textContent = png && png !== file ? `The picture was made to fit, as ${png.name}.` : '';
    if (!png) return;
    const kept = new DataTransfer();
    kept.items.add(png);
    input.files = kept.files;
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      picture.value = reader.result;
      show();
    });
    reader.readAsDataURL(png);
  }

  form.addEventListener('input', ({ target }) => {
    const picker = elements['primary_color.picked'];
    const text = elements.primary_color;
    if (target === picker) text.value = picker.value;
    else if (target === text && /^#[\da-f]{6}$/i.test(text.value.trim())) picker.value = text.value.trim();
    if (target.type !== 'file') show();
  });
  form.addEventListener('change', ({ target }) => {
    if (target.type === 'file') choose(target);
  });
  show();
}
