/** HTML from template literals: values are escaped unless they are HTML already. */

/** Escaped HTML. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Value = string | number | Html | undefined | ReadonlyArray<Html>

/** Fills a template; undefined values become empty. Attributes must be quoted in the template. */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<Value>): Html =>
  new Html(strings.reduce((text, part, at) => text + render(values[at - 1]) + part))

const render = (value: Value): string => {
  if (value === undefined) return ""
  if (value instanceof Html) return value.text
  return typeof value === "object" ? value.map(render).join("") : escaped(String(value))
}

/** Text as HTML, also in quoted attributes. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
