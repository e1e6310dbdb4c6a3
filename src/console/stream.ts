/** One streamed exchange of twp/1, event by event. */
import { addressOf, errorOf } from "./api.ts"
import { eventsOf, type ServerEvent } from "./events.ts"

export interface Turn {
  readonly role: "user" | "assistant"
  readonly text: string
}

export interface StreamEvent extends ServerEvent {
  /** After the request was sent, in milliseconds. */
  readonly atMs: number
  /** What it adds to the answer. */
  readonly text: string
}

export interface Asked {
  /** `KEY_ID~SECRET`, or a token. */
  readonly key: string
  readonly model: string
  readonly thread: ReadonlyArray<Turn>
  readonly signal: AbortSignal
}

export const streamExchange = async (
  { key, model, thread, signal }: Asked,
  take: (event: StreamEvent) => void,
): Promise<void> => {
  const startedAt = performance.now()
  const [keyId = "", ...secret] = key.split("~")
  const credential: Record<string, string> =
    secret.length === 0 ? { authorization: `Bearer ${key}` } : { "x-svc-key-id": keyId, "x-svc-key": secret.join("~") }
  const blocks = (text: string) => [{ t: "text", v: text }]
  const response = await fetch(addressOf("t1/exchange"), {
    method: "POST",
    headers: { ...credential, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      stream: true,
      thread: thread.map(({ role, text }) => ({ role, blocks: blocks(text) })),
    }),
    signal,
    credentials: "omit",
  })
  if (!response.ok || response.body === null) throw await errorOf(response)
  for await (const { name, data } of eventsOf(response.body)) {
    take({ atMs: performance.now() - startedAt, name, data, text: addedBy(name, data) })
  }
}

const addedBy = (name: string, data: string): string => {
  if (name !== "t.delta") return ""
  const { t, v }: { readonly t?: string; readonly v?: string } = JSON.parse(data)
  return t === "text" ? (v ?? "") : ""
}
