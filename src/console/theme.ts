/** The theme: light, dark, or as the system says; remembered in this browser. */

export type Theme = "system" | "light" | "dark"
const key = "weir-theme"

export const readTheme = (): Theme => {
  const stored = localStorage.getItem(key)
  return stored === "light" || stored === "dark" ? stored : "system"
}

export const applyTheme = (theme: Theme = readTheme()): void => {
  if (theme === "system") {
    localStorage.removeItem(key)
    delete document.documentElement.dataset["theme"]
  } else {
    localStorage.setItem(key, theme)
    document.documentElement.dataset["theme"] = theme
  }
}
