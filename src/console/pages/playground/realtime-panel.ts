/** The playground's realtime session: speech from the microphone or typed text, answered with sound and text. */

import { html } from "htm/preact"
import { useRef, useState } from "preact/hooks"
import { ApiError } from "../../api.ts"
import { count } from "../../format.ts"
import { linkTo } from "../../route.ts"
import { Card } from "../../ui/parts.ts"
import type { VoiceMessage, VoiceUsage } from "../../voice/protocol.ts"
import { openVoice, type Voice } from "../../voice/voice.ts"
import { ModelSelect, ofKind } from "./model-select.ts"
import type { PanelProps } from "./panel.ts"
import { type SpokenLine, withMessage, withTyped } from "./spoken-lines.ts"

export const RealtimePanel = ({ credential, isReady, models }: PanelProps) => {
  const [chosen, setModel] = useState("")
  const handles = ofKind(models, "realtime")
  const model = handles.includes(chosen) ? chosen : (handles[0] ?? "")
  const isOff = !isReady || model === ""
  const api = models.find(({ handle }) => handle === model)?.realtimeApi ?? "openai"
  const [lines, setLines] = useState<ReadonlyArray<SpokenLine>>([])
  const [usage, setUsage] = useState<VoiceUsage>()
  const [last, setLast] = useState("")
  const [problem, setProblem] = useState("")
  const [isOpen, setIsOpen] = useState(false)
  const voice = useRef<Voice | undefined>(undefined)

  const receive = (message: VoiceMessage) => {
    setLast(message.name)
    setLines((known) => withMessage(known, message))
    if (message.usage !== undefined) setUsage(message.usage)
    if (message.problem !== undefined) setProblem(message.problem)
  }
  const open = async (withMicrophone: boolean) => {
    setProblem("")
    setLines([])
    setUsage(undefined)
    setLast("")
    const ended = (why: string) => {
      setIsOpen(false)
      setProblem(why)
    }
    try {
      const options = { api, credential: await credential(), model, withMicrophone }
      voice.current = await openVoice(options, { received: receive, ended })
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
    if (text === "" || voice.current === undefined) return
    setLines((known) => withTyped(known, text))
    voice.current.say(text)
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
      <div aria-live="polite" class="facts">
        ${lines.map(
          ({ who, text, isInterrupted }) =>
            html`<strong class="soft">${who}</strong><div class="wrap">${text} ${isInterrupted && html`<small class="soft">interrupted</small>`}</div>`,
        )}
      </div>
      ${
        usage !== undefined &&
        html`<p class="soft small">
          Last answer: ${count(usage.inTokens)} tokens in, ${count(usage.outTokens)} out.
          <a href=${linkTo(["exchanges"], { model })}>Cost of each answer</a>
        </p>`
      }
      ${isOpen && html`<p class="soft small">Last event: <code>${last || "none"}</code></p>`}
      ${problem !== "" && html`<p role="alert">${problem}</p>`}
    <//>
  `
}
