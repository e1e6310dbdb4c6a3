/** The playground: a conversation with a model, streamed, with the events and their times beside it. */

import { html } from "htm/preact"
import { useRef, useState } from "preact/hooks"
import { type ApiError, base } from "../../api.ts"
import { millis } from "../../format.ts"
import { asApiError } from "../../load.ts"
import { type StreamEvent, streamExchange, type Turn } from "../../stream.ts"
import { CopyButton } from "../../ui/form.ts"
import { Card, Empty, ErrorBox, Head } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { useViewer } from "../../viewer.ts"
import { ReadyLines } from "../organisation/keys-panel.ts"
import { CallerFields, useCaller } from "./caller.ts"
import { MediaPanel } from "./media-panel.ts"
import { ModelSelect, ofKind } from "./model-select.ts"
import { RealtimePanel } from "./realtime-panel.ts"
import { WholeCallPanel } from "./whole-call-panel.ts"

/** The chosen model, until the page is closed. */
const remembered = { model: "" }

export const Page = () => {
  const viewer = useViewer()
  const caller = useCaller()
  const { credential, isReady, models } = caller
  const handles = ofKind(models, "chat")
  const [wanted, setModel] = useState(remembered.model)
  const model = handles.includes(wanted) ? wanted : handles.includes("main") ? "main" : (handles[0] ?? "")
  const [thread, setThread] = useState<ReadonlyArray<Turn>>([])
  const [events, setEvents] = useState<ReadonlyArray<StreamEvent>>([])
  const [error, setError] = useState<ApiError>()
  const abort = useRef<AbortController>(undefined)
  const [isRunning, setRunning] = useState(false)
  remembered.model = wanted

  const send = async (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const text = String(new FormData(form).get("message") ?? "").trim()
    if (text === "") return
    form.reset()
    const asked: ReadonlyArray<Turn> = [...thread, { role: "user", text }]
    setThread([...asked, { role: "assistant", text: "" }])
    setEvents([])
    setError(undefined)
    setRunning(true)
    abort.current = new AbortController()
    let answer = ""
    try {
      await streamExchange({ key: await credential(), model, thread: asked, signal: abort.current.signal }, (next) => {
        answer += next.text
        setEvents((known) => [...known, next])
        setThread([...asked, { role: "assistant", text: answer }])
      })
    } catch (failure) {
      if (!abort.current.signal.aborted) setError(asApiError(failure))
    }
    setRunning(false)
  }

  const keyId = caller.typed.split("~")[0] ?? ""
  const curl = `curl -N ${base.href}t1/exchange -H 'x-svc-key-id: ${keyId || "KEY_ID"}' -H 'x-svc-key: SECRET' -H 'content-type: application/json' -d '${JSON.stringify({ model, stream: true, thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }] })}'`
  return html`
    <${Head} title="Playground" />
    <div class="cards">
      <${Card} title="Conversation" actions=${thread.length > 0 && html`<button type="button" class="quiet" onClick=${() => setThread([])}>Start again</button>`}>
        <div class="fields">
          <${CallerFields} caller=${caller} />
          <${ModelSelect} label="Model" handles=${handles} value=${model} choose=${setModel} />
        </div>
        <div role="log" aria-live="polite" class="facts">
          ${thread.map(({ role, text }) => html`<strong class="soft">${role === "user" ? "You" : "Model"}</strong><div class="wrap">${text || "…"}</div>`)}
        </div>
        ${thread.length === 0 && html`<${Empty} title="No messages yet">Calls are billed to the organisation, as any other.<//>`}
        <${ErrorBox} error=${error} />
        <form class="fields" onSubmit=${send}>
          <label>Message<input name="message" autocomplete="off" required /></label>
          ${
            isRunning
              ? html`<button type="button" class="danger" onClick=${() => abort.current?.abort()}>Stop</button>`
              : html`<button disabled=${!isReady || model === ""}>Send</button>`
          }
        </form>
        <p class="soft small">${viewer.kind === "person" ? "You call as yourself, with a token that ends when you leave this page." : "A key of 15 minutes is made for the first application of the organisation, and is revoked when you leave this page."}</p>
      <//>
      <${Card} title="Events">
        <${Table} caption="Events" rows=${events} empty=${html`<${Empty} title="No events yet">Events of the stream come here with their times.<//>`} columns=${[
          { name: "After", align: "right", show: ({ atMs }: StreamEvent) => millis(atMs) },
          { name: "Event", show: ({ name }: StreamEvent) => html`<code>${name}</code>` },
          { name: "Data", show: ({ data }: StreamEvent) => html`<code class="wrap small">${data}</code>` },
        ]} />
      <//>
    </div>
    <${WholeCallPanel} ...${caller} />
    <${MediaPanel} ...${caller} />
    <${RealtimePanel} ...${caller} />
    <${Card} title="The same from a program">
      <div><div class="head"><h3>curl</h3><${CopyButton} text=${curl} /></div><pre class="note" tabindex="0">${curl}</pre></div>
      <${ReadyLines} keyId=${keyId || "KEY_ID"} secret="SECRET" />
    <//>
  `
}
