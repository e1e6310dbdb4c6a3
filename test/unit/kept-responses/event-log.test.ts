/** The log of a response's events: it keeps a text until each of its readers has it. */
import { expect, it } from "vitest"
import { EventLog } from "../../../src/kept-responses/event-log.ts"

const restOf = (reader: ReturnType<EventLog["read"]>) => {
  const texts = reader.waiting()
  reader.take(texts.length)
  return texts
}

it("gives each reader all texts in their order, and keeps those that one lacks", () => {
  const log = new EventLog()
  log.add("a")
  const writer = log.read()
  let changes = 0
  const client = log.read(() => changes++)
  log.add("b")
  expect(writer.waiting()).toEqual(["a", "b"])
  expect(writer.waiting()).toEqual(["a", "b"])
  expect(log.kept).toBe(2)
  writer.take(2)
  expect(log.kept).toBe(2)
  expect(client.next()).toBe("a")
  expect(log.kept).toBe(1)
  log.add("c")
  expect(changes).toBe(2)
  expect(client.next()).toBe("b")
  expect(client.next()).toBe("c")
  expect(client.next()).toBeUndefined()
  expect(restOf(writer)).toEqual(["c"])
  expect(log.kept).toBe(0)
})

it("drops the texts of a reader that leaves, and never those of one that is late", () => {
  const log = new EventLog()
  const writer = log.read()
  const slow = log.read()
  for (let at = 0; at < 1000; at++) {
    log.add(String(at))
    writer.take(1)
  }
  expect(log.kept).toBe(1000)
  expect(slow.next()).toBe("0")
  slow.leave()
  slow.leave()
  expect(log.kept).toBe(0)
  expect(slow.next()).toBeUndefined()
  log.add("last")
  expect(restOf(writer)).toEqual(["last"])
})

it("keeps all texts until it has a reader, and reports its end", () => {
  const log = new EventLog()
  log.add("a")
  log.add("b")
  expect(log.kept).toBe(2)
  let changes = 0
  const reader = log.read(() => changes++)
  log.end()
  expect([changes, log.isEnded]).toEqual([1, true])
  expect(restOf(reader)).toEqual(["a", "b"])
  reader.leave()
  log.add("c")
  expect(changes).toBe(1)
})
