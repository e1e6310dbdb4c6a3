/** Servers of tools, as the catalogue declares them: by address, by command, or by a description of an HTTP API. */
import { Schema } from "effect"
import { Currency } from "../usage.ts"
import { NonNegative } from "../values/bounds.ts"
import { Bytes } from "./files.ts"
import { network } from "./network.ts"
import { ReplyPath, ReportedUnit } from "./pass-through.ts"
import { TimeoutsOfPlace } from "./timeouts.ts"
import { HttpUrl, SecretRef } from "./values.ts"

/** It is a part of the names of tools (`server__tool`) and of resources (`server+file:///a`). */
export const ToolServerId = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9-]{0,30}$/, { expected: "an id such as weather: a-z, 0-9 and -, at most 31" }),
)

/** A server's own name of a tool. */
const ToolName = Schema.String.check(
  Schema.isPattern(/^[^\s\p{Cc}]{1,128}$/u, { expected: "the name of a tool, without spaces" }),
)

/** A tool by its name, or by the start of it with * at its end. */
const NamedTools = Schema.Array(ToolName).check(Schema.isMaxLength(1000))

/** The price of a unit that a result reports, for a million of them. */
const UnitPrice = Schema.Struct({ at: ReplyPath, price: NonNegative })

/** Amounts are for a million calls or units, as all prices. */
export const ToolPrice = Schema.Union([
  Schema.Literal("free"),
  Schema.Struct({
    currency: Currency,
    calls: Schema.optionalKey(NonNegative),
    /** Units by their names, such as `rows`, with the places in a result where their counts are. */
    units: Schema.optionalKey(Schema.Record(ReportedUnit, UnitPrice)),
    /** The most that a call costs, which is held. Needed where units have prices; the price of a call otherwise. */
    hold: Schema.optionalKey(NonNegative),
  }),
]).annotate({ description: "`free`, or a currency with the prices of a million calls, and of units of a result" })
export type ToolPrice = typeof ToolPrice.Type

const prices = Schema.Record(ToolName, ToolPrice)

/** A header of each request to a server: a text, or a reference to a secret. */
const Headers = Schema.Record(
  Schema.String.check(
    Schema.isPattern(
      /^(?!(?:host|connection|content-.*|transfer-encoding|keep-alive|te|trailer|upgrade|expect|accept|mcp-.*)$)[a-z][a-z0-9-]{0,63}$/,
      { expected: "the name of a header that is not of the connection or the protocol" },
    ),
  ),
  Schema.String.check(
    Schema.isPattern(/^[\x21-\x7e](?:[\x20-\x7e]{0,2046}[\x21-\x7e])?$/, { expected: "visible ASCII" }),
  ),
)

/** A process of the gateway's machine that speaks the protocol over its input and output. */
export const ToolCommand = Schema.Struct({
  /** The program: a name in `PATH`, or a path. */
  program: Schema.NonEmptyString.check(Schema.isMaxLength(4096)),
  /** Its arguments. */
  arguments: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isMaxLength(8192))).check(Schema.isMaxLength(256)),
  ),
  /** Its environment beside `PATH` and `HOME`: texts, or references to secrets. It has none of the gateway's. */
  environment: Schema.optionalKey(
    Schema.Record(
      Schema.String.check(Schema.isPattern(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, { expected: "the name of a variable" })),
      Schema.String.check(Schema.isMaxLength(8192)),
    ),
  ),
  /** The most processes on one node; 1 if absent. */
  processes: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 }))),
  /** The most memory of one process; 512 MiB if absent. */
  memoryBytes: Schema.optionalKey(Bytes),
})
export type ToolCommand = typeof ToolCommand.Type

/** An HTTP API whose operations become tools. */
export const ToolApi = Schema.Struct({
  /** Its OpenAPI document, 3.0 or 3.1: an address, or a file of the gateway's machine. JSON or YAML. */
  document: Schema.NonEmptyString.check(Schema.isMaxLength(4096)),
  /** The base of its addresses. */
  baseUrl: HttpUrl,
  /** Only operations with one of these tags become tools; all if absent. */
  tags: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(100))),
  /** Only these operations become tools, by their ids; all if absent. */
  operations: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(1000))),
})
export type ToolApi = typeof ToolApi.Type

/** The account of the gateway, or of each person, at a server that asks for OAuth. */
export const ToolOAuth = Schema.Struct({
  /** `platform`: one account for all callers. `person`: each person gives consent, and end users have no account. */
  of: Schema.Literals(["platform", "person"]),
  /** The authorisation server. The only one that is used, and an address that the egress guard lets through; needed with `clientId`. */
  issuer: Schema.optionalKey(HttpUrl),
  /** The id of a client that the server's authorisation server knows; the gateway registers itself if absent. */
  clientId: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(2048))),
  /** The secret of that client; absent if it has none. */
  clientSecret: Schema.optionalKey(SecretRef),
  /** Scopes that are asked for; those that the server names if absent. */
  scopes: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(100))),
})
export type ToolOAuth = typeof ToolOAuth.Type

export const ToolServer = Schema.Struct({
  id: ToolServerId,
  /** The name that people see. */
  name: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(128))),
  /** The address of a remote server. */
  url: Schema.optionalKey(HttpUrl),
  /** Addresses of servers that are equal to it: they are asked if it cannot be reached. */
  replicas: Schema.optionalKey(Schema.Array(HttpUrl).check(Schema.isMaxLength(8))),
  /** A process of the gateway's machine that speaks the protocol over its input and output. */
  command: Schema.optionalKey(ToolCommand),
  /** An HTTP API whose operations become tools. */
  openapi: Schema.optionalKey(ToolApi),
  /** Sent as a bearer token. */
  credential: Schema.optionalKey(SecretRef),
  /** The account at a server that asks for OAuth. */
  oauth: Schema.optionalKey(ToolOAuth),
  /** Headers of each request to it: texts, or references to secrets. */
  headers: Schema.optionalKey(Headers),
  ...network,
  timeouts: Schema.optionalKey(TimeoutsOfPlace),
  /** The choice among its tools, by its own names of them. */
  tools: Schema.optionalKey(
    Schema.Struct({
      /** The tools that it offers here; all if absent. Names may end in *. */
      allow: Schema.optionalKey(NamedTools),
      /** Tools that it does not offer here. */
      deny: Schema.optionalKey(NamedTools),
      /** Other names, by a server's own. */
      rename: Schema.optionalKey(
        Schema.Record(
          ToolName,
          Schema.String.check(
            Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, { expected: "a name such as find_page" }),
          ),
        ),
      ),
      /** Other descriptions, by a server's own names. */
      describe: Schema.optionalKey(Schema.Record(ToolName, Schema.String.check(Schema.isMaxLength(16_384)))),
      /** Prices of calls: of each of its tools, or in `tools` of those that are named; free if absent. */
      price: Schema.optionalKey(prices),
    }),
  ),
  price: Schema.optionalKey(ToolPrice),
  /** Whether its tools only read: then a call may be sent to another server after it failed at the first. */
  isReadOnly: Schema.optionalKey(Schema.Boolean),
  /** A tool whose description or schema changes is held back until an operator agrees (`hold`), or offered at once. */
  changes: Schema.optionalKey(Schema.Literals(["hold", "offer"])),
}).check(
  Schema.makeFilter(({ url, command, openapi }) =>
    [url, command, openapi].filter((way) => way !== undefined).length === 1
      ? undefined
      : "has one of url, command and openapi",
  ),
)
export type ToolServer = typeof ToolServer.Type
