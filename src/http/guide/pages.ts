/** The written pages of the guide: Markdown of `src/docs`, or of the one file that the package's build makes of it. */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { packagedFile } from "../packaged-file.ts"
import { contents } from "./contents.ts"
import { type RenderedPage, renderMarkdown } from "./markdown.ts"

export interface GuidePage extends RenderedPage {
  readonly path: string
}

/** The file of a built package: Markdown by the paths of its pages. */
export const GuideFile = Schema.Record(Schema.String, Schema.String)

/** The Markdown of all pages of the contents, by their paths. @param folder `src/docs` */
export const readMarkdown = (folder: URL): Readonly<Record<string, string>> =>
  Object.fromEntries(
    contents.flatMap(({ paths }) => paths.map((path) => [path, readFileSync(new URL(`${path}.md`, folder), "utf8")])),
  )

/** All pages in reading order. */
export const loadPages = (): ReadonlyArray<GuidePage> => {
  const built = packagedFile("guide.json")
  const pages =
    built !== undefined
      ? Schema.decodeUnknownSync(Schema.fromJsonString(GuideFile))(readFileSync(built, "utf8"))
      : readMarkdown(new URL("../../docs/", import.meta.url))
  return Object.entries(pages).map(([path, markdown]) => ({ path, ...renderMarkdown(markdown, path) }))
}
