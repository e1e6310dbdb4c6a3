/** HTML from template literals: what is put in is escaped, unless it is HTML already. */

/** Text that is safe to stand in a page. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Value = string | number | Html | undefined | ReadonlyArray<Html>

/** Fills a template; an undefined value stands for nothing. Attributes must be quoted in the template. */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<Value>): Html =>
  new Html(strings.reduce((text, part, at) => text + render(values[at - 1]) + part))

const render = (value: Value): string => {
  if (value === undefined) return ""
  if (value instanceof Html) return value.text
  return typeof value === "object" ? value.map(render).join("") : escaped(String(value))
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
