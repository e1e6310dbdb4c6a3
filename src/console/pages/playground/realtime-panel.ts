/** The playground's realtime session: speech from the microphone or typed text, answered with sound and text. */

import { html } from "htm/preact"
import { useRef, useState } from "preact/hooks"
import { ApiError } from "../../api.ts"
import { Card } from "../../ui/parts.ts"
import { openVoice, type Voice } from "../../voice.ts"
import { ModelSelect, ofKind } from "./model-select.ts"
import type { PanelProps } from "./panel.ts"

export const RealtimePanel = ({ credential, isReady, models }: PanelProps) => {
  const [chosen, setModel] = useState("")
  const handles = ofKind(models, "realtime")
  const model = handles.includes(chosen) ? chosen : (handles[0] ?? "")
  const isOff = !isReady || model === ""
  const [answers, setAnswers] = useState<ReadonlyArray<string>>([])
  const [last, setLast] = useState("")
  const [problem, setProblem] = useState("")
  const [isOpen, setIsOpen] = useState(false)
  const voice = useRef<Voice | undefined>(undefined)

  const open = async (withMicrophone: boolean) => {
    setProblem("")
    setAnswers([])
    try {
      voice.current = await openVoice(await credential(), model, withMicrophone, {
        begun: () => setAnswers((known) => [...known, ""]),
        said: (text) => setAnswers((known) => [...known.slice(0, -1), `${known.at(-1) ?? ""}${text}`]),
        told: setLast,
        ended: (why) => {
          setIsOpen(false)
          setProblem(why)
        },
      })
      setIsOpen(true)
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : "The browser gives no microphone")
    }
  }
  const say = (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const text = String(new FormData(form).get("said") ?? "").trim()
    form.reset()
    if (text !== "") voice.current?.say(text)
  }

  return html`
    <${Card} title="Talk with a model">
      <div class="fields">
        <${ModelSelect} label="Voice of" handles=${handles} value=${model} choose=${setModel} />
        ${
          isOpen
            ? html`<button type="button" class="danger" onClick=${() => voice.current?.end()}>End the session</button>`
            : html`
              <button type="button" disabled=${isOff} onClick=${() => void open(true)}>Talk</button>
              <button type="button" class="quiet" disabled=${isOff} onClick=${() => void open(false)}>Type</button>`
        }
      </div>
      ${isOpen && html`<form class="fields" onSubmit=${say}><label>Say<input name="said" autocomplete="off" required /></label><button>Say it</button></form>`}
      <div aria-live="polite">
        ${answers.map((text) => html`<p class="wrap">${text || "…"}</p>`)}
      </div>
      ${isOpen && html`<p class="soft small">Last event: <code>${last || "none"}</code></p>`}
      ${problem !== "" && html`<p role="alert">${problem}</p>`}
    <//>
  `
}
