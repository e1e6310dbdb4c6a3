/** The events of one response that runs on this node: they are read while they are written. */

/** A reader of a log. */
export interface EventReader {
  /** The texts that it has not taken yet. */
  readonly waiting: () => ReadonlyArray<string>
  /** It has so many of the texts that wait. */
  readonly take: (count: number) => void
  /** Takes one text; undefined if none waits. */
  readonly next: () => string | undefined
  /** It needs no more texts. */
  readonly leave: () => void
}

interface Place {
  /** The number of the next text that it takes. */
  at: number
  readonly changed: () => void
}

/** Texts of events in their order. A text is kept until all who read have it; before there is a reader, all are kept. */
export class EventLog {
  #texts: Array<string> = []
  /** The number of the first text that is kept. */
  #first = 0
  readonly #places = new Set<Place>()
  #isEnded = false

  /** Whether no more will come. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** The number of texts in memory. */
  get kept(): number {
    return this.#texts.length
  }

  add(text: string): void {
    this.#texts.push(text)
    this.#tell()
  }

  end(): void {
    this.#isEnded = true
    this.#tell()
  }

  /** @param changed is called after each change */
  read(changed: () => void = () => {}): EventReader {
    const place: Place = { at: this.#first, changed }
    this.#places.add(place)
    const waiting = () => (this.#places.has(place) ? this.#texts.slice(place.at - this.#first) : [])
    const take = (count: number) => {
      place.at = Math.min(place.at + count, this.#first + this.#texts.length)
      this.#drop()
    }
    return {
      waiting,
      take,
      next: () => {
        const text = this.#places.has(place) ? this.#texts[place.at - this.#first] : undefined
        if (text !== undefined) take(1)
        return text
      },
      leave: () => {
        if (this.#places.delete(place)) this.#drop()
      },
    }
  }

  #drop(): void {
    const end = this.#first + this.#texts.length
    let needed = end
    for (const { at } of this.#places) needed = Math.min(needed, at)
    // The rest is moved: rarely, since most often there is none.
    if (needed < end && 2 * (needed - this.#first) < this.#texts.length) return
    this.#texts = needed === end ? [] : this.#texts.slice(needed - this.#first)
    this.#first = needed
  }

  #tell(): void {
    for (const { changed } of [...this.#places]) changed()
  }
}
