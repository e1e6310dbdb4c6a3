/** A vendor of any API, for routes that are passed through: each reply is an object with the id that it is asked to give. */
import { Effect, type Scope } from "effect"
import { type ScriptedVendor, startScriptedVendor, type VendorScript } from "../../src/testing/scripted-vendor.ts"

export interface AnyVendor {
  readonly url: string
  /** Gives this id in its next reply. */
  readonly give: (id: string) => void
}

/** Members that the SDKs look for in replies. */
const members = (id: string) => ({
  id,
  name: id,
  job_id: id,
  object: "object",
  data: [],
  has_more: false,
  connector: { id },
  dataset: { id },
  batch: { id },
  finetuned_model: { id },
})

/** Starts it; it stops when the scope closes. */
export const startAnyVendor: Effect.Effect<AnyVendor, never, Scope.Scope> = Effect.map(
  Effect.suspend(() => startScriptedVendor(script)),
  ({ url }: ScriptedVendor) => ({
    url,
    give: (id) => {
      next = id
    },
  }),
)

let next: string | undefined
let made = 0

const script: VendorScript = (call) => {
  const { path, headers } = call
  if (path.includes("/cachedContents")) {
    call.head(200, { "content-type": "application/json" })
    return call.end(JSON.stringify({ name: "cachedContents/kept", usageMetadata: { totalTokenCount: 4000 } }))
  }
  const id = next ?? `made-${++made}-0123456789`
  next = undefined
  // A list has no id of its own.
  const isList = call.method === "GET" && !path.split("?", 1)[0]?.includes("%7B")
  const json = JSON.stringify(isList ? { object: "list", data: [], has_more: false } : members(id))
  if (String(headers["accept"]).includes("text/event-stream") || /\/(stream|events\/stream)(\?|$)/.test(path)) {
    call.head(200, { "content-type": "text/event-stream" })
    return call.end(`data: ${json}\n\n`)
  }
  if (/\/content(\?|$)|\/media\//.test(path)) {
    call.head(200, { "content-type": "application/octet-stream" })
    return call.end("Hello")
  }
  call.head(200, { "content-type": "application/json" })
  call.end(json)
}
