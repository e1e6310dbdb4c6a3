/** Clients that wait for `100 Continue` before they send a body: curl does with every body above 1 MiB. */
import { request } from "node:http"
import { text } from "node:stream/consumers"
import { describe, expect, it } from "vitest"
import { hello } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const gateway = useGateway()

interface Answer {
  readonly status: number | undefined
  readonly body: string
  readonly connection: string | undefined
  readonly wasAsked: boolean
}

/** Sends a body once it is asked for. */
const send = (path: string, body: string, key = gateway().key): Promise<Answer> =>
  new Promise((resolve, reject) => {
    let wasAsked = false
    const sent = request(`${gateway().baseUrl}${path}`, {
      method: "POST",
      headers: {
        expect: "100-continue",
        "content-type": path === "/t1/transcriptions" ? "multipart/form-data; boundary=b" : "application/json",
        "content-length": String(Buffer.byteLength(body)),
        "x-svc-key-id": gateway().keyId,
        "x-svc-key": key,
      },
    })
    sent.on("continue", () => {
      wasAsked = true
      sent.end(body)
    })
    sent.on("response", async (response) => {
      const { statusCode: status, headers } = response
      resolve({ status, body: await text(response), connection: headers.connection, wasAsked })
      sent.destroy()
    })
    sent.on("error", reject)
    sent.flushHeaders()
  })

const long = (length: number) =>
  JSON.stringify({
    ...hello,
    model: "plain",
    thread: [{ role: "user", blocks: [{ t: "text", v: "x".repeat(length) }] }],
  })

describe("a client that waits for 100 Continue", () => {
  it("is asked for its body on a hot route, and answered", async () => {
    const { status, body, wasAsked, connection } = await send("/t1/exchange", long(2_000_000))
    expect([status, wasAsked, connection]).toEqual([200, true, "keep-alive"])
    expect(body).toContain("Hello there")
  })

  it("is asked for its body on a route of the router", async () => {
    const { status, body, wasAsked } = await send("/openai/v1/completely/unknown", long(10))
    expect([status, wasAsked]).toEqual([404, false])
    expect(body).toContain("error")
    const usage = JSON.stringify({ events: [] })
    expect(await send("/t1/usage", usage)).toMatchObject({ wasAsked: true })
  })

  it("is refused before it sends a file, and its connection is closed", async () => {
    const { status, wasAsked, connection } = await send("/t1/transcriptions", "x".repeat(1_000_000), "wrong")
    expect([status, wasAsked, connection]).toEqual([401, false, "close"])
  })

  it("sends a form, which is read", async () => {
    const { status, body, wasAsked } = await send(
      "/t1/transcriptions",
      `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nmain\r\n--b--\r\n`,
    )
    expect([status, wasAsked]).toEqual([400, true])
    expect(body).toContain("file")
  })
})
