/** An operation of an OpenAPI document as a tool. */
import type { JsonObject } from "../../dialects/parse/json.ts"

export type OperationMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

export type ParameterPlace = "path" | "query" | "header"

export type ParameterStyle = "simple" | "label" | "matrix" | "form" | "spaceDelimited" | "pipeDelimited" | "deepObject"

export interface OperationParameter {
  /** The argument of the tool. */
  readonly argument: string
  /** The name in the request. */
  readonly name: string
  readonly place: ParameterPlace
  readonly style: ParameterStyle
  readonly explode: boolean
  readonly isRequired: boolean
  /** Whether its value is JSON text. */
  readonly isJson: boolean
  /** Whether reserved characters of URLs stay in it. */
  readonly allowsReserved: boolean
  /** The value of a required parameter that a call does not have. */
  readonly default: unknown
}

/** The style of a form's field. */
export interface FieldStyle {
  readonly style: ParameterStyle
  readonly explode: boolean
}

export interface OperationBody {
  readonly contentType: string
  readonly form: "json" | "urlencoded" | "multipart" | "text" | "binary"
  readonly isRequired: boolean
  /** The argument that is the body; undefined if the body's properties are arguments. */
  readonly argument: string | undefined
  /** Properties of the body that are arguments. */
  readonly properties: ReadonlyArray<string>
  /** Styles of a form's fields that differ from the usual one. */
  readonly styles: Readonly<Record<string, FieldStyle>>
  /** Media types of a form's fields that are files, whose arguments are base64. */
  readonly files: Readonly<Record<string, string>>
}

export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: true
}

/** A tool as a server lists it. */
export interface OperationTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly annotations: ToolAnnotations
}

export interface ToolOperation {
  readonly tool: OperationTool
  readonly method: OperationMethod
  /** The path with its templates, below the base URL. */
  readonly path: string
  /** The server's URL; undefined if the document has none that is absolute. */
  readonly baseUrl: string | undefined
  readonly operationId: string | undefined
  readonly tags: ReadonlyArray<string>
  readonly parameters: ReadonlyArray<OperationParameter>
  readonly body: OperationBody | undefined
}
