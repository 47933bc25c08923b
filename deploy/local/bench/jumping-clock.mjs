// Loaded before a service (`--import`): each SIGUSR2 makes the clock of its process jump, forth and back in turns.
const JUMP_MS = 90_000;
const now = Date.now;
let offset = 0;
Date.now = () => now() + offset;
globalThis.Date = new Proxy(Date, {
  construct: (target, args) => (args.length === 0 ? new target(Date.now()) : new target(...args)),
});
process.on('SIGUSR2', () => {
  offset = offset === 0 ? JUMP_MS : 0;
});
