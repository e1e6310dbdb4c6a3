/**
 * Names and values of the APIs of clients: they are in every request, and are no text of it. A word that is missing here is
 * read as text.
 */
export const apiWords: ReadonlySet<string> = new Set(
  `
    access_programs adaptive additionalModelRequestFields additionalModelResponseFieldPaths all_turns allowedFunctionNames
    allowed_callers allowed_tools annotations any apply_patch apply_patch_call apply_patch_call_output args arguments
    assistant async audio audioTranscriptionConfig auto background base64 bash_code_execution_tool_result behavior
    budget_tokens bytes cachePoint cache_control cachedContent call call_id caller candidateCount category
    chat_template_kwargs citation_options citations clear_thinking client_metadata codeExecution codeExecutionResult
    code_execution_tool_result code_interpreter code_interpreter_call commentary compaction completed computer computerUse
    computer_call computer_call_output computer_use_preview concise container container_upload content contents context
    context_management conversation csv current_turn custom customCall customResult custom_tool_call
    custom_tool_call_output data default defer_loading description detail detailed developer diagnostics
    disable_parallel_tool_use disabled display displayName do_sample doc document document_name document_url documents
    docx eager_input_streaming effort enableEnhancedCivicAnswers enable_search enable_thinking enabled encrypted_content
    endOffset ephemeral error exclude executableCode fast file fileData fileSearch fileUri file_data file_id file_search
    file_search_call file_url filename final_answer flex format fps frequencyPenalty frequency_penalty function
    functionCall functionCallingConfig functionDeclarations functionResponse function_call function_call_output functions
    generate_summary generationConfig generationOutputConfig gif googleMaps googleSearch googleSearchRetrieval
    guardContent guardrailConfig hidden high html id image imageConfig image_generation image_generation_call image_url
    images in_memory in_progress include includeServerSideToolInvocations includeThoughts include_obfuscation
    include_usage incomplete index inferenceConfig inference_geo inlineData input inputSchema input_audio input_examples
    input_file input_image input_schema input_text instructions is_error item_reference jpeg json json_object json_schema
    labels letter local_shell local_shell_call local_shell_call_output logit_bias logprobs low max maxOutputTokens
    maxTokens max_completion_tokens max_output_tokens max_tokens max_tool_calls maximum mcp mcpServers
    mcp_approval_request mcp_approval_response mcp_call mcp_list_tools mcp_servers mcp_tool_result mcp_tool_use md
    mediaResolution media_type medium message messages metadata method mimeType min_p minimal minimum modalities mode
    model modelSelectionConfig models moderation more mp3 name namespace none omitted on_demand original output
    outputConfig output_config output_format output_schema output_text parallel_tool_calls parameters parametersJsonSchema
    parsed parsed_arguments partMetadata partial partialArgs parts pdf performance performanceConfig phase plugins png
    prediction prefix presencePenalty presence_penalty previous_response_id priority prompt promptVariables
    prompt_cache_breakpoint prompt_cache_key prompt_cache_options prompt_cache_retention random_seed raw reasoning
    reasoningContent reasoningText reasoning_content reasoning_effort reasoning_format redactedContent redacted_thinking
    reference refusal repetition_penalty requestMetadata required response responseJsonSchema responseLogprobs
    responseMimeType responseModalities responseSchema response_format result retrievalConfig role route routingConfig
    s3Location safe_prompt safetySettings safety_identifier safety_mode scale scheduling schema search_options
    search_parameters search_result search_settings seed server_tool_use serviceTier service_tier shell shell_call
    shell_call_output signature source speechConfig speed standard standard_only startOffset status stop stopSequences
    stop_sequences stop_token_ids store stream stream_options strict strict_tools success summarized summary summary_text
    system systemInstruction systemTool task_budget temperature text text_editor_code_execution_tool_result thinking
    thinkingBudget thinkingConfig thinkingLevel thinking_budget thought thoughtSignature threshold title token_budget tool
    toolCall toolChoice toolConfig toolResponse toolResult toolSpec toolUse toolUseId tool_call_id tool_calls tool_choice
    tool_name tool_plan tool_reference tool_result tool_search tool_search_call tool_search_output tool_search_tool_result
    tool_use tool_use_id tools toolset_name topK topP top_k top_logprobs top_p transformations truncation ttl txt type
    ultra url urlContext user user_id user_profile_id value verbosity video videoMetadata video_url wav
    web_fetch_tool_result web_search web_search_call web_search_options web_search_preview web_search_tool_result webp
    willContinue workspace_id xhigh xls xlsx
  `
    .trim()
    .split(/\s+/),
)
