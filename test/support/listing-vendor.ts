/** A vendor with the API of OpenAI's chat completions that lists models, and answers each call with `ready`. */
import { createServer } from "node:http"
import { afterAll, beforeAll } from "vitest"
import { openaiBody } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"

export interface ListingVendor {
  /** Its base URL. */
  url: string
  /** The list in its answer. */
  listed: unknown
  status: number
  /** Paths at which it was asked. */
  readonly asked: Array<string>
}

/** @param key the API key that it takes */
export const useListingVendor = (key: string): ListingVendor => {
  const vendor: ListingVendor = { url: "", listed: { data: [] }, status: 200, asked: [] }
  const server = createServer((request, response) => {
    vendor.asked.push(request.url ?? "")
    const isAllowed = request.headers.authorization === `Bearer ${key}`
    response.writeHead(isAllowed ? vendor.status : 401, { "content-type": "application/json" })
    if (request.url === "/v1/models") response.end(JSON.stringify(vendor.listed))
    else response.end(openaiBody({ words: ["ready"], inTokens: 5, outTokens: 1 }))
  })
  beforeAll(
    () =>
      new Promise<void>((resolve) => {
        server.listen(0, "127.0.0.1", () => {
          vendor.url = `http://127.0.0.1:${portOf(server)}/v1`
          resolve()
        })
      }),
  )
  afterAll(() => void server.close())
  return vendor
}
