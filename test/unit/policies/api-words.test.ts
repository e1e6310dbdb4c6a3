/** Words of the APIs are no text: the list has all that strict twins know. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { apiWords } from "../../../src/policies/api-words.ts"

it("each word that a request of a twin may have is known", () => {
  const folder = new URL("../../../src/testing/twins/", import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("request.ts"))
  expect(files.length).toBeGreaterThan(5)
  const unknown = files.flatMap((file) => {
    const text = readFileSync(new URL(file, folder), "utf8").replaceAll(/^import .*$/gm, "")
    return [...text.matchAll(/"([a-z]\w{0,40})"/g)].map(([, word = ""]) => word).filter((word) => !apiWords.has(word))
  })
  expect(unknown).toEqual([])
})
