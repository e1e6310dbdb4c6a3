// A program of somebody else, typechecked against the packed client: strictly, without Effect and without `skipLibCheck`.
import { connect, isWeirError, type Reply, type StreamedEvent, type WeirError } from "@weir-gateway/client"

type Equal<A, B> = [A, B] extends [B, A] ? true : false
const isExactly = <A, B>(_: Equal<A, B>): void => {}

const weir = connect({ baseUrl: "https://weir.example.com", credentials: { keyId: "k", key: "s" } })

export const main = async (): Promise<string> => {
  const reply: Reply = await weir.exchange({
    model: "main",
    thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }],
  })
  isExactly<typeof reply.text, string>(true)
  isExactly<typeof reply.usage.inTokens, number>(true)
  // @ts-expect-error a request without a thread
  await weir.exchange({ model: "main" })
  // @ts-expect-error no such role
  await weir.exchange({ model: "main", thread: [{ role: "nobody", blocks: [] }] })
  for await (const event of weir.stream({ model: "main", thread: [] })) read(event)
  return reply.text
}

const read = (event: StreamedEvent): void => {
  if (event.event === "t.delta" && event.data.t === "text") isExactly<typeof event.data.v, string>(true)
  // @ts-expect-error an error is no event of a stream
  if (event.event === "t.err") return
}

export const explain = (error: unknown): string => {
  if (!isWeirError(error)) return "of another kind"
  const known: WeirError = error
  return known._tag === "WeirRefused" ? `${known.code}, ${known.requestId}` : `${known.code}, ${known.advice}`
}
