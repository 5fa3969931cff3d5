// Colours that the map needs as numbers, for light and dark.
import { rgb } from "./colors.js";

export function themeOf(root) {
  const style = getComputedStyle(root);
  const value = (name) => style.getPropertyValue(`--hm-${name}`).trim();
  const part = (name) => rgb(value(name)).map((number) => number / 255);
  return { none: value("none"), faint: part("faint"), ground: part("ground"), ink: value("ink"), accent: value("accent"), wash: value("wash") };
}
