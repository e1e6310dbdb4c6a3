/** Records sound by the browser's microphone. */

import { html } from "htm/preact"
import { useRef, useState } from "preact/hooks"

export const RecordButton = ({ onRecorded }: { readonly onRecorded: (sound: Blob) => void }) => {
  const recorder = useRef<MediaRecorder | undefined>(undefined)
  const [problem, setProblem] = useState("")
  const [isRecording, setIsRecording] = useState(false)

  const begin = async () => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
      const chunks: Array<Blob> = []
      const made = new MediaRecorder(stream)
      made.ondataavailable = ({ data }) => chunks.push(data)
      made.onstop = () => {
        for (const track of stream.getTracks()) track.stop()
        onRecorded(new Blob(chunks, { type: made.mimeType }))
      }
      made.start()
      recorder.current = made
      setIsRecording(true)
      setProblem("")
    } catch {
      setProblem("The browser gives no microphone")
    }
  }
  const end = () => {
    recorder.current?.stop()
    setIsRecording(false)
  }

  return html`
    <button type="button" onClick=${() => (isRecording ? end() : void begin())}>${isRecording ? "Stop" : "Record"}</button>
    ${problem !== "" && html`<p class="soft small">${problem}</p>`}
  `
}
