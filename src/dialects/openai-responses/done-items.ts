/** The items of a stream as they were done: some servers do not repeat them in the last event. Pure. */
import { editJsonText } from "../../protocol/json/json-edit.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { type JsonObject, numberAt, objectAt, objectsAt, stringAt } from "../parse/json.ts"

const ends: ReadonlySet<string | undefined> = new Set(["response.completed", "response.done", "response.incomplete"])

export class DoneItems {
  /** The events that closed them, by the places of the items. */
  readonly #events = new Map<number, string>()

  /** @returns the last event with the items, if it has none itself; undefined for other events */
  read(frame: JsonObject | undefined, data: string): string | undefined {
    const type = stringAt(frame, "type")
    if (type === "response.output_item.done") {
      this.#events.set(numberAt(frame, "output_index") ?? this.#events.size, data)
      return undefined
    }
    const response = ends.has(type) ? objectAt(frame, "response") : undefined
    if (response === undefined || this.#events.size === 0 || objectsAt(response, "output").length > 0) return undefined
    const texts = [...this.#events]
      .toSorted(([one], [other]) => one - other)
      .flatMap(([, event]) => new JsonSource(event).textAt(["item"]) ?? [])
    return editJsonText(data, [{ path: ["response", "output"], json: `[${texts.join(",")}]` }])
  }
}
