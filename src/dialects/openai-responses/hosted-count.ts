/** Counts uses of OpenAI's own tools in a response, as they are billed. Source: https://platform.openai.com/docs/pricing */
import { type JsonObject, objectAt, stringAt } from "../json.ts"

export class HostedCount {
  #searches = 0
  #fileSearches = 0
  #pictures = 0
  readonly #containers = new Set<string | undefined>()

  /** @param item of the output, whole */
  add(item: JsonObject | undefined): void {
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
        // What runs in one container is one session.
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
