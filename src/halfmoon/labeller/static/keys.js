// Which key labels which class: its name if that is one character, else digits in order, then letters.

const DIGITS = "1234567890";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export function keysOf(names) {
  const keys = names.map((name) => (/^[a-z0-9]$/i.test(name) ? name.toLowerCase() : null));
  const taken = new Set(keys.filter((key) => key !== null));
  const twice = new Set();
  keys.forEach((key, i) => {
    if (key === null) return;
    if (twice.has(key)) keys[i] = null;
    twice.add(key);
  });
  names.forEach((name, i) => {
    if (keys[i] !== null) return;
    const wanted = [...DIGITS, ...name.toLowerCase(), ...LETTERS].filter((key) => /^[a-z0-9]$/.test(key));
    const free = wanted.find((key) => !taken.has(key));
    if (free === undefined) return;
    keys[i] = free;
    taken.add(free);
  });
  return keys;
}
