/** The playground's pictures, sound and videos: drawn, played, recorded or dropped, and watched until they are done. */

import { html } from "htm/preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { useAction } from "../../load.ts"
import { askJob, callMedia, type MediaReply } from "../../stream.ts"
import { Card, ErrorBox } from "../../ui/parts.ts"
import { RecordButton } from "../../ui/record-button.ts"
import type { Credential } from "./credential.ts"
import { ModelSelect, ofKind } from "./model-select.ts"
import type { PanelProps } from "./panel.ts"

type Kind = "images" | "speech" | "transcriptions" | "videos"

const kinds: ReadonlyArray<readonly [kind: Kind, name: string, modelKind: string]> = [
  ["images", "Create a picture", "image"],
  ["speech", "Create speech", "speech"],
  ["transcriptions", "Transcribe speech", "transcription"],
  ["videos", "Create a video", "video"],
]

/** The interval at which a job is asked for. */
const askEveryMs = 1000

export const MediaPanel = ({ credential, isReady, models }: PanelProps) => {
  const [kind, setKind] = useState<Kind>("images")
  const [chosen, setModel] = useState("")
  const [file, setFile] = useState<Blob | undefined>(undefined)
  const [reply, setReply] = useState<MediaReply | undefined>(undefined)
  const sound = useSound(reply?.sound)
  const { run, isRunning, error } = useAction(async (request: FormData) => {
    setReply(await callMedia(await credential(), kind, request))
  })
  useJob(credential, reply, setReply)

  const choose = (name: string) => {
    const found = kinds.find(([each]) => each === name)
    if (found === undefined) return
    setKind(found[0])
    setReply(undefined)
  }
  const handles = ofKind(models, kinds.find(([each]) => each === kind)?.[2] ?? "")
  const model = handles.includes(chosen) ? chosen : (handles[0] ?? "")
  const send = (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const said = new FormData(form)
    said.set("model", model)
    if (file !== undefined && kind === "transcriptions") said.set("file", file, "recording")
    void run(said)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setFile(event.dataTransfer?.files[0])
  }

  return html`
    <${Card} title="Pictures, sound and videos">
      <form class="fields" onSubmit=${send}>
        <label>What to make
          <select value=${kind} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => choose(currentTarget.value)}>
            ${kinds.map(([each, name]) => html`<option value=${each}>${name}</option>`)}
          </select>
        </label>
        <${ModelSelect} label="Model of this kind" handles=${handles} value=${model} choose=${setModel} />
        ${kind === "images" && html`<label>Prompt<input name="prompt" required /></label>`}
        ${kind === "videos" && html`<label>Prompt<input name="prompt" required /></label><label>Seconds<input name="seconds" type="number" min="1" max="120" value="4" required /></label>`}
        ${kind === "speech" && html`<label>Text<textarea name="input" rows="2" required></textarea></label><label>Voice<input name="voice" value="alloy" required /></label>`}
        ${
          kind === "transcriptions" &&
          html`<label onDragOver=${(event: DragEvent) => event.preventDefault()} onDrop=${drop}>Recording, chosen or dropped
            <input type="file" accept="audio/*,video/*" onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setFile(currentTarget.files?.[0])} />
          </label>
          <${RecordButton} onRecorded=${setFile} />
          ${file !== undefined && html`<p class="soft small">${file.size} bytes</p>`}`
        }
        <button disabled=${!isReady || isRunning || model === "" || (kind === "transcriptions" && file === undefined)}>Make it</button>
      </form>
      <${ErrorBox} error=${error} />
      <div aria-live="polite">
        ${reply?.images?.map(({ mime, data }, at) => html`<img src=${`data:${mime};base64,${data}`} alt=${`Picture ${at + 1}`} width="256" />`)}
        ${sound !== undefined && html`<audio controls src=${sound} aria-label="The spoken text"></audio>`}
        ${reply?.text !== undefined && html`<p class="wrap">${reply.text}</p>`}
        ${reply?.job !== undefined && html`<p>${reply.job.id}: ${reply.job.status}, ${reply.job.progress} %</p>`}
        ${reply?.cost !== undefined && html`<p class="soft small">Billed: ${reply.cost}</p>`}
      </div>
    <//>
  `
}

/** The address of bytes, for as long as they are shown. */
const useSound = (bytes: Blob | undefined): string | undefined => {
  const [address, setAddress] = useState<string | undefined>(undefined)
  useEffect(() => {
    if (bytes === undefined) return setAddress(undefined)
    const made = URL.createObjectURL(bytes)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes])
  return address
}

/** Asks for a job until it has ended. */
const useJob = (credential: Credential, reply: MediaReply | undefined, told: (reply: MediaReply) => void): void => {
  const last = useRef(told)
  last.current = told
  useEffect(() => {
    const { job } = reply ?? {}
    if (job === undefined || (job.status !== "queued" && job.status !== "running")) return
    const timer = setTimeout(() => {
      credential()
        .then((key) => askJob(key, job.id))
        .then(
          (next) => last.current({ ...reply, job: next }),
          () => {},
        )
    }, askEveryMs)
    return () => clearTimeout(timer)
  }, [reply])
}
