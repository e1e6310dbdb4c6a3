/** Counts uses of OpenAI's own tools in a response, as they are billed. Source: https://platform.openai.com/docs/pricing */
import { type JsonObject, objectAt, stringAt } from "../parse/json.ts"

export class HostedCount {
  #searches = 0
  #fileSearches = 0
  #pictures = 0
  readonly #known = new Set<number>()
  readonly #containers = new Set<string | undefined>()

  /**
   * @param index the index of an item of the output, which may come twice @param item the whole item @returns whether it is
   * one more use
   */
  add(index: number, item: JsonObject | undefined): boolean {
    if (this.#known.has(index)) return false
    const before = this.#total
    this.#count(item)
    if (this.#total === before) return false
    this.#known.add(index)
    return true
  }

  get #total(): number {
    return this.#searches + this.#fileSearches + this.#pictures + this.#containers.size
  }

  #count(item: JsonObject | undefined): void {
    switch (stringAt(item, "type")) {
      case "web_search_call":
        // Pages that are opened afterwards are not billed.
        if ((stringAt(objectAt(item, "action"), "type") ?? "search") === "search") this.#searches++
        return
      case "file_search_call":
        this.#fileSearches++
        return
      case "image_generation_call":
        this.#pictures++
        return
      case "code_interpreter_call":
        // Several runs in one container are one session.
        this.#containers.add(stringAt(item, "container_id"))
    }
  }

  get counts() {
    return {
      web_search: this.#searches,
      file_search: this.#fileSearches,
      image_generation: this.#pictures,
      code_execution: this.#containers.size,
    }
  }
}
