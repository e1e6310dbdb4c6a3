/** The playground's realtime session: speech from the microphone or typed text, answered with sound and text. */

import { html } from "htm/preact"
import { useRef, useState } from "preact/hooks"
import { Card } from "../../ui/parts.ts"
import { openVoice, type Voice } from "../../voice.ts"

export const RealtimePanel = ({ credential }: { readonly credential: string }) => {
  const [model, setModel] = useState("talk")
  const [answers, setAnswers] = useState<ReadonlyArray<string>>([])
  const [last, setLast] = useState("")
  const [problem, setProblem] = useState("")
  const [isOpen, setIsOpen] = useState(false)
  const voice = useRef<Voice | undefined>(undefined)

  const open = async (withMicrophone: boolean) => {
    setProblem("")
    setAnswers([])
    try {
      voice.current = await openVoice(credential, model, withMicrophone, {
        begun: () => setAnswers((known) => [...known, ""]),
        said: (text) => setAnswers((known) => [...known.slice(0, -1), `${known.at(-1) ?? ""}${text}`]),
        told: setLast,
        ended: (why) => {
          setIsOpen(false)
          setProblem(why)
        },
      })
      setIsOpen(true)
    } catch {
      setProblem("The browser gives no microphone")
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
        <label>Voice of<input value=${model} spellcheck=${false} onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setModel(currentTarget.value.trim())} /></label>
        ${
          isOpen
            ? html`<button type="button" class="danger" onClick=${() => voice.current?.end()}>End the session</button>`
            : html`
              <button type="button" disabled=${credential === ""} onClick=${() => void open(true)}>Talk</button>
              <button type="button" class="quiet" disabled=${credential === ""} onClick=${() => void open(false)}>Type</button>`
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
