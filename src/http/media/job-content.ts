/** The result of a job, streamed through: the vendor is read as fast as the client takes it. */
import { Readable } from "node:stream"
import { Effect, Stream } from "effect"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { UpstreamCall, UpstreamHead, UpstreamRequest, VendorClient } from "../../upstream/client.ts"

export interface Content {
  readonly contentType: string
  readonly length: string | undefined
  readonly bytes: Stream.Stream<Uint8Array, unknown>
}

/** Asks for the result; succeeds at its head. */
export const openContent = (
  client: VendorClient["Service"],
  request: UpstreamRequest,
): Effect.Effect<Content, ServiceError<"upstream_error">> =>
  Effect.callback((resume) => {
    let call: UpstreamCall | undefined
    const body = new Readable({
      read: () => call?.resume(),
      destroy: (error, done) => {
        call?.abort()
        done(error)
      },
    })
    // A client that leaves destroys it; nobody else hears of that.
    body.on("error", () => {})
    const fail = (cause: unknown) => {
      resume(Effect.fail(serviceError("upstream_error", "The result could not be fetched", { cause })))
      body.destroy(cause instanceof Error ? cause : new Error("The result broke off"))
    }
    call = client.start(request, {
      connected: () => {},
      head: (head: UpstreamHead) => {
        if (head.status !== 200) return fail(`the vendor answered ${head.status}`)
        resume(
          Effect.succeed({
            contentType: head.headers["content-type"] ?? "video/mp4",
            length: head.headers["content-length"],
            bytes: Stream.fromAsyncIterable(body, (error) => error),
          }),
        )
      },
      bytes: (bytes) => {
        if (!body.push(Buffer.from(bytes))) call?.pause()
      },
      ended: () => body.push(null),
      broken: ({ cause }) => fail(cause),
    })
    return Effect.sync(() => body.destroy())
  })
