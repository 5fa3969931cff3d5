// Colours of the classes: readable on light and on dark ground, the first ones also for the colour-blind.

const PALETTE = [
  "#3b7dd8", "#e8a317", "#17a398", "#e4572e", "#8b5fd6", "#6aa32d", "#e36ba8", "#56b4e9", "#a8703f", "#7d8796",
  "#b5a92f", "#b3203f",
];
export const NO_CLASS = 255;

export function classColor(number) {
  if (number < PALETTE.length) return PALETTE[number];
  const hue = (number * 137.508) % 360; // the golden angle keeps later ones apart
  return hslToHex(hue, 0.55, number % 2 ? 0.45 : 0.58);
}

function hslToHex(hue, saturation, lightness) {
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

export function rgb(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

export function paletteBytes(none) {
  const bytes = new Uint8Array(4 * 256);
  for (let number = 0; number < 256; number += 1) {
    bytes.set([...rgb(number === NO_CLASS ? none : classColor(number)), 255], 4 * number);
  }
  return bytes;
}
