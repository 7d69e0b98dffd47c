// Light or dark: as the system says, or as the reader chose.
import { Store, remembered } from "./store";

export type Theme = "auto" | "light" | "dark";

const kept = remembered(() => localStorage, "kollect.theme");

function read(): Theme {
  const value = typeof localStorage === "undefined" ? null : kept.get();
  return value === "light" || value === "dark" ? value : "auto";
}

export const theme = new Store<Theme>(read());

export function applyTheme(): void {
  const dark = theme.get() === "dark" || (theme.get() === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

export function setTheme(next: Theme): void {
  kept.set(next === "auto" ? null : next);
  theme.set(next);
  applyTheme();
}

export function watchSystemTheme(): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  applyTheme();
}
