/** The playground's other calls: embeddings, rankings, moderation and searches, with their cost. */

import { html } from "htm/preact"
import { useState } from "preact/hooks"
import { useAction } from "../../load.ts"
import { callWhole, type WholeReply } from "../../stream.ts"
import { Card, Empty, ErrorBox } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { ModelSelect, ofKind } from "./model-select.ts"
import type { PanelProps } from "./panel.ts"

type Kind = "embeddings" | "rerank" | "moderations" | "websearch"

const kinds: ReadonlyArray<readonly [kind: Kind, name: string]> = [
  ["embeddings", "Embed texts"],
  ["rerank", "Order documents"],
  ["moderations", "Moderate texts"],
  ["websearch", "Search the web"],
]

/** The kinds of models that calls need. */
const modelKinds: Readonly<Record<Kind, string>> = {
  embeddings: "embedding",
  rerank: "rerank",
  moderations: "moderation",
  websearch: "",
}

interface Row {
  readonly what: string
  readonly got: string
}

export const WholeCallPanel = ({ credential, isReady, models }: PanelProps) => {
  const [kind, setKind] = useState<Kind>("embeddings")
  const [chosen, setModel] = useState("")
  const [rows, setRows] = useState<ReadonlyArray<Row>>([])
  const [price, setPrice] = useState("")
  const { run, isRunning, error } = useAction(async (request: object, texts: ReadonlyArray<string>) => {
    const reply = await callWhole(await credential(), kind, request)
    setRows(rowsOf(kind, reply, texts))
    setPrice(reply.cost)
  })
  const hasModel = kind !== "websearch"
  const handles = ofKind(models, modelKinds[kind])
  const model = handles.includes(chosen) ? chosen : (handles[0] ?? "")
  const hasQuery = kind === "rerank" || kind === "websearch"

  const send = (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const said = new FormData(form)
    const texts = String(said.get("texts") ?? "")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "")
    const query = String(said.get("query") ?? "")
    void run(requestOf(kind, model, query, texts), texts)
  }

  return html`
    <${Card} title="Other calls">
      <form class="fields" onSubmit=${send}>
        <label>Call
          <select value=${kind} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => {
            const chosen = kinds.find(([each]) => each === currentTarget.value)
            if (chosen !== undefined) setKind(chosen[0])
            setRows([])
          }}>
            ${kinds.map(([each, name]) => html`<option value=${each}>${name}</option>`)}
          </select>
        </label>
        ${hasModel && html`<${ModelSelect} label="Its model" handles=${handles} value=${model} choose=${setModel} />`}
        ${hasQuery && html`<label>Query<input name="query" required /></label>`}
        ${kind !== "websearch" && html`<label>Texts, one a line<textarea name="texts" rows="3" required></textarea></label>`}
        <button disabled=${!isReady || isRunning || (hasModel && model === "")}>Call</button>
      </form>
      <${ErrorBox} error=${error} />
      <${Table} caption="Reply" rows=${rows} empty=${html`<${Empty} title="No reply yet">It is billed to the key's organisation.<//>`} columns=${[
        { name: "What", show: ({ what }: Row) => html`<span class="wrap">${what}</span>` },
        { name: "Reply", show: ({ got }: Row) => html`<code class="wrap small">${got}</code>` },
      ]} />
      ${price !== "" && rows.length > 0 && html`<p class="soft small">Billed: ${price}</p>`}
    <//>
  `
}

const requestOf = (kind: Kind, model: string, query: string, texts: ReadonlyArray<string>): object => {
  switch (kind) {
    case "embeddings":
    case "moderations":
      return { model, input: texts }
    case "rerank":
      return { model, query, documents: texts }
    case "websearch":
      return { query }
  }
}

const shown = 4

const rowsOf = (kind: Kind, { body }: WholeReply, texts: ReadonlyArray<string>): ReadonlyArray<Row> => {
  const { vectors = [], results = [] } = body
  switch (kind) {
    case "embeddings":
      return vectors.map((vector, at) => ({
        what: texts[at] ?? "",
        got: `${vector.slice(0, shown).join(", ")}${vector.length > shown ? `, … (${vector.length} numbers)` : ""}`,
      }))
    case "rerank":
      return results.map(({ index = 0, score = 0 }) => ({ what: texts[index] ?? "", got: String(score) }))
    case "moderations":
      return results.map(({ flagged, categories = {} }, at) => {
        const names = Object.keys(categories).filter((name) => categories[name] === true)
        return { what: texts[at] ?? "", got: flagged === true ? `flagged: ${names.join(", ")}` : "not flagged" }
      })
    case "websearch":
      return results.map(({ title = "", url = "" }) => ({ what: title, got: url }))
  }
}
