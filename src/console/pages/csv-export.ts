/** The button that saves all usage records of an organisation, and shows how many have come. */
import { html } from "htm/preact"
import { useRef, useState } from "preact/hooks"
import { type Query, send } from "../api.ts"
import { textOf } from "../events.ts"
import { count } from "../format.ts"
import { useAction } from "../load.ts"
import { ErrorBox } from "../ui/parts.ts"

export const CsvExport = ({ path, query }: { readonly path: string; readonly query?: Query }) => {
  const [records, setRecords] = useState(0)
  const abort = useRef<AbortController>(undefined)
  const { run, isRunning, error } = useAction(async () => {
    const stop = new AbortController()
    const { signal } = stop
    abort.current = stop
    setRecords(0)
    try {
      const response = await send("GET", path, { ...(query !== undefined && { query }), signal })
      const parts: Array<string> = []
      let lines = 0
      for await (const text of textOf(response.body ?? new ReadableStream())) {
        parts.push(text)
        lines += text.split("\n").length - 1
        // The first line has the names of the columns.
        setRecords(Math.max(0, lines - 1))
      }
      save(new Blob(parts, { type: "text/csv" }), "usage.csv")
    } catch (failure) {
      if (!signal.aborted) throw failure
    }
  })
  return html`<span class="row">
    <button type="button" class="quiet" disabled=${isRunning} onClick=${() => run()}>Statement as CSV</button>
    ${isRunning && html`<span role="status">${count(records)} records…</span><button type="button" class="quiet" onClick=${() => abort.current?.abort()}>Cancel</button>`}
    <${ErrorBox} error=${error} />
  </span>`
}

export const save = (file: Blob, name: string): void => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
