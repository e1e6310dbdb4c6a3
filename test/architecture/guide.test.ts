/** The guide: each page is in its contents, each link leads somewhere, and pages that are made from the code are up to date. */
import { readdirSync, readFileSync } from "node:fs"
import { posix } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { withFigures } from "../../scripts/docs/figures.ts"
import { generatedPages } from "../../scripts/docs/generated-pages.ts"
import { adviceFor } from "../../src/client/advice.ts"
import { contents } from "../../src/http/guide/contents.ts"
import { renderMarkdown } from "../../src/http/guide/markdown.ts"
import { errorCodes } from "../../src/protocol/error.ts"
import { errorCauses } from "../../src/protocol/error-causes.ts"

const folder = new URL("../../src/docs/", import.meta.url)
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"))
const paths = files.map((name) => name.replace(/\.md$/, "")).sort()
const read = (path: string): string => readFileSync(new URL(`${path}.md`, folder), "utf8")
const anchors = new Map(
  paths.map((path) => [path, new Set(renderMarkdown(read(path), path).sections.map(({ id }) => id))]),
)

describe("the guide", () => {
  it("has each page in its contents, once", () => {
    expect(contents.flatMap(({ paths }) => paths).sort()).toEqual(paths)
  })

  it.each(paths)("%s links to pages and headings that exist, or to public pages", (path) => {
    const prose = read(path).replaceAll(/```[\s\S]*?```|`[^`]*`/g, "")
    for (const [, link = ""] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (link.startsWith("https://")) continue
      const [file = "", anchor] = link.split("#")
      const page = file === "" ? path : posix.join(posix.dirname(path), file).replace(/\.md$/, "")
      expect([...anchors.keys()], link).toContain(page)
      if (anchor !== undefined) expect([...(anchors.get(page) ?? [])], link).toContain(anchor)
    }
  })

  it.each(paths)("%s has one title, and no heading without a text", (path) => {
    const { title, sections } = renderMarkdown(read(path), path)
    expect(title).not.toBe(path)
    expect(sections.filter(({ level }) => level === 1)).toHaveLength(1)
    for (const { title } of sections) expect(title).not.toBe("")
  })

  it.each(generatedPages)("$file is as the code says: npm run docs", async ({ file, text }) => {
    expect(readFileSync(file, "utf8")).toBe(await text())
  })
})

describe("the README", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
  it("is a front page", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(150)
  })
  it("has the figures of the last run: npm run docs", () => {
    expect(withFigures(readme)).toBe(readme)
  })
})

describe("the causes of errors", () => {
  const sources = fileURLToPath(new URL("../../src/", import.meta.url))
  const used = new Set(
    readdirSync(sources, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !/^(protocol\/(error|examples|error-causes|api\/)|client\/)/.test(name))
      .flatMap((name) => [...readFileSync(`${sources}${name}`, "utf8").matchAll(/["`](\w+)["`]|\b(\w+):/g)])
      .flatMap(([, quoted, member]) => [quoted ?? member ?? ""]),
  )
  it("are those of the codes that a source uses", () => {
    expect(errorCodes.filter((code) => errorCauses[code] !== undefined)).toEqual(
      errorCodes.filter((code) => used.has(code)),
    )
  })
  it("have an advice", () => {
    for (const code of errorCodes) expect(adviceFor(code)).toMatch(/^[a-z_]+$/)
  })
})
