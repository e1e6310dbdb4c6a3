/** Server-sent events of a reply, as they arrive. */

export interface ServerEvent {
  readonly name: string
  readonly data: string
}

export async function* eventsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<ServerEvent> {
  let rest = ""
  for await (const chunk of textOf(body)) {
    const events = (rest + chunk).split("\n\n")
    rest = events.pop() ?? ""
    for (const event of events) {
      const fields = new Map(
        event.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
      )
      const name = fields.get("event")
      if (name !== undefined) yield { name, data: fields.get("data") ?? "" }
    }
  }
}

/** The text of a body, piece by piece. */
export async function* textOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) yield value ?? ""
}
