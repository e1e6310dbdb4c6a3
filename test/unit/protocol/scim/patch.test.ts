/** PATCH of SCIM resources, by tables. */
import { Result, type Schema } from "effect"
import { describe, expect, it } from "vitest"
import { applyPatch } from "../../../../src/protocol/scim/patch.ts"
import { project, readProjection } from "../../../../src/protocol/scim/projection.ts"
import { groupKind, userKind } from "../../../../src/protocol/scim/schema.ts"
import { readResource } from "../../../../src/protocol/scim/values.ts"

const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
const work = { value: "ann@work.example", type: "work", primary: true }
const home = { value: "ann@home.example", type: "home" }
const ann: Schema.JsonObject = {
  userName: "ann@example.com",
  active: true,
  name: { givenName: "Ann", familyName: "Hara" },
  emails: [work, home],
  [enterprise]: { department: "Research" },
}
const team: Schema.JsonObject = { displayName: "Team", members: [{ value: "u1" }, { value: "u2" }] }

const patchOf = (...Operations: ReadonlyArray<Schema.JsonObject>): Schema.JsonObject => ({ Operations })
const changed = (kind: typeof userKind, before: Schema.JsonObject, operation: Schema.JsonObject) =>
  Result.getOrThrow(applyPatch(kind, before, patchOf(operation)))

describe("an operation on a person", () => {
  it.each<readonly [string, Schema.JsonObject, Schema.JsonObject]>([
    ["replaces a text", { op: "Replace", path: "userName", value: "a@b.example" }, { userName: "a@b.example" }],
    ["reads a boolean that is a text", { op: "replace", path: "active", value: "False" }, { active: false }],
    ["has no path", { op: "replace", value: { active: false } }, { active: false }],
    ["names attributes in any case", { op: "ADD", path: "DISPLAYNAME", value: "A" }, { displayName: "A" }],
    [
      "changes a part, and others stay",
      { op: "replace", path: "name.givenName", value: "Anna" },
      { name: { givenName: "Anna", familyName: "Hara" } },
    ],
    [
      "replaces the parts that are sent",
      { op: "replace", path: "name", value: { givenName: "Anna" } },
      { name: { givenName: "Anna", familyName: "Hara" } },
    ],
    ["removes a part", { op: "remove", path: "name.familyName" }, { name: { givenName: "Ann" } }],
    [
      "changes a value of a list",
      { op: "replace", path: 'emails[type eq "work"].value', value: "x@work.example" },
      { emails: [{ ...work, value: "x@work.example" }, home] },
    ],
    [
      "makes the value that it selects",
      { op: "add", path: 'emails[type eq "other"].value', value: "x@other.example" },
      { emails: [work, home, { type: "other", value: "x@other.example" }] },
    ],
    [
      "makes another value the primary one",
      { op: "replace", path: 'emails[type eq "home"].primary', value: "True" },
      {
        emails: [
          { ...work, primary: false },
          { ...home, primary: true },
        ],
      },
    ],
    ["adds no value twice", { op: "add", path: "emails", value: [home] }, { emails: [work, home] }],
    ["removes a value", { op: "remove", path: 'emails[type eq "home"]' }, { emails: [work] }],
    [
      "changes the extension",
      { op: "add", value: { [`${enterprise}:manager`]: "M1" } },
      { [enterprise]: { department: "Research", manager: { value: "M1" } } },
    ],
    [
      "changes the extension as a whole",
      { op: "replace", value: { [enterprise]: { department: "Sales" } } },
      { [enterprise]: { department: "Sales" } },
    ],
    ["leaves out what cannot be written", { op: "replace", value: { id: "x", groups: [], shoeSize: 42 } }, {}],
  ])("%s", (_, operation, expected) => {
    expect(changed(userKind, ann, operation)).toEqual({ ...ann, ...expected })
  })

  it.each<readonly [string, Schema.JsonObject, string]>([
    ["has no operation of that name", { op: "move", path: "title", value: "x" }, "invalidSyntax"],
    ["has no path to remove", { op: "remove" }, "noTarget"],
    ["has an unknown path", { op: "replace", path: "shoeSize", value: "x" }, "invalidPath"],
    ["writes an id", { op: "replace", path: "id", value: "x" }, "mutability"],
    ["writes groups", { op: "add", path: "groups", value: [{ value: "g" }] }, "mutability"],
    ["removes the address", { op: "remove", path: "userName" }, "invalidValue"],
    ["has a value of another kind", { op: "replace", path: "active", value: "perhaps" }, "invalidValue"],
    ["selects nothing", { op: "replace", path: 'emails[value sw "x"].type', value: "work" }, "noTarget"],
    ["has a selection that cannot be read", { op: "remove", path: "emails[type eq]" }, "invalidFilter"],
    [
      "has two primary values",
      { op: "replace", path: "emails", value: [work, { ...home, primary: true }] },
      "invalidValue",
    ],
    ["has no value", { op: "add", path: "title" }, "invalidValue"],
    ["has a character that no store holds", { op: "add", path: "title", value: "a\u0000" }, "invalidValue"],
  ])("is refused if it %s", (_, operation, scimType) => {
    const after = applyPatch(userKind, ann, patchOf(operation))
    expect(Result.isFailure(after) && after.failure.scimType).toBe(scimType)
  })
})

describe("an operation on members", () => {
  const members = (operation: Schema.JsonObject) => changed(groupKind, team, operation)["members"]
  it.each<readonly [string, Schema.JsonObject, Schema.Json | undefined]>([
    [
      "adds",
      { op: "Add", path: "members", value: [{ $ref: null, value: "u3" }] },
      [...["u1", "u2", "u3"].map((value) => ({ value }))],
    ],
    ["adds one twice", { op: "add", path: "members", value: [{ value: "u1" }] }, [{ value: "u1" }, { value: "u2" }]],
    [
      "adds one without a list",
      { op: "add", path: "members", value: { value: "u3" } },
      ["u1", "u2", "u3"].map((value) => ({ value })),
    ],
    ["removes a list", { op: "Remove", path: "members", value: [{ value: "u1" }] }, [{ value: "u2" }]],
    ["removes a selection", { op: "remove", path: 'members[value eq "u1"]' }, [{ value: "u2" }]],
    ["removes nobody", { op: "remove", path: 'members[value eq "u9"]' }, [{ value: "u1" }, { value: "u2" }]],
    ["removes an empty list", { op: "remove", path: "members", value: [] }, [{ value: "u1" }, { value: "u2" }]],
    ["removes all", { op: "remove", path: "members" }, undefined],
    ["replaces all", { op: "replace", path: "members", value: [{ value: "u9" }] }, [{ value: "u9" }]],
  ])("%s", (_, operation, expected) => {
    expect(members(operation)).toEqual(expected)
  })

  it("is refused beyond the work that one request may make", () => {
    const many = { displayName: "Many", members: Array.from({ length: 100_000 }, (_, at) => ({ value: `u${at}` })) }
    const removal = { op: "remove", path: 'members[value eq "u0"]' }
    const after = applyPatch(groupKind, many, patchOf(...Array.from({ length: 1000 }, () => removal)))
    expect(Result.isFailure(after) && after.failure.scimType).toBe("tooMany")
    const more = { op: "add", path: "members", value: [{ value: "more" }] }
    expect(Result.isFailure(applyPatch(groupKind, many, patchOf(more)))).toBe(true)
  })
})

describe("a resource", () => {
  it("keeps the attributes of its schemas", () => {
    const sent = {
      ...ann,
      USERNAME: "b@example.com",
      id: "x",
      password: "secret",
      title: null,
      groups: [{ value: "g" }],
    }
    expect(Result.getOrThrow(readResource(userKind, sent))).toEqual({ ...ann, userName: "b@example.com" })
  })

  it.each<readonly [string, ReadonlyArray<string> | undefined, ReadonlyArray<string> | undefined, Schema.JsonObject]>([
    ["the attributes", ["userName"], undefined, { userName: "ann@example.com" }],
    [
      "parts of attributes",
      ["NAME.givenName", "emails.type"],
      undefined,
      {
        name: { givenName: "Ann" },
        emails: [{ type: "work" }, { type: "home" }],
      },
    ],
    [
      "two parts of one",
      ["name.givenName", "name.familyName"],
      undefined,
      { name: { givenName: "Ann", familyName: "Hara" } },
    ],
    ["an extension's", [`${enterprise}:department`], undefined, { [enterprise]: { department: "Research" } }],
    [
      "all but some",
      undefined,
      ["emails", "name.familyName", enterprise, "id"],
      {
        userName: "ann@example.com",
        active: true,
        name: { givenName: "Ann" },
      },
    ],
  ])("is shown with %s that are asked for", (_, attributes, excluded, expected) => {
    const shown = project({ id: "1", schemas: [], ...ann }, readProjection(userKind, attributes, excluded))
    expect(shown).toEqual({ id: "1", schemas: [], ...expected })
  })
})
