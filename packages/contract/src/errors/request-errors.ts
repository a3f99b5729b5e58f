import { type ErrorRow, later, row } from './kinds.ts';

/** What is wrong with a request, and who sent it. */
export const requestErrors = {
  // The request itself
  request_invalid: row('invalid', 'The request is not valid', 'Correct the fields named in `problems`.'),
  spec_invalid: row(
    'invalid',
    'The workspace spec is not valid',
    'Correct the fields named in `problems`; `caisson spec check` shows them without creating anything.',
    { status: 422 },
  ),
  profile_invalid: row('invalid', 'The profile is not valid', 'Correct the fields named in `problems`.', {
    status: 422,
  }),
  profile_cycle: row('invalid', 'The profile extends itself', 'Break the chain of `extends` that the message names.', {
    status: 422,
  }),
  profile_exists: row(
    'conflict',
    'This version of the profile is there with other content',
    'A version never changes: raise it, and add that.',
  ),
  input_missing: row(
    'invalid',
    'The profile needs an input that was not given',
    'Give it with `--input name=value`; `caisson profile get` lists the inputs.',
    { status: 422 },
  ),
  body_too_large: row('invalid', 'The request body is too large', 'Send less, or use the streaming file routes.', {
    status: 413,
  }),
  headers_too_large: row('invalid', 'The request headers are too large', 'Send fewer or shorter headers.', {
    status: 431,
  }),
  body_malformed: row('invalid', 'The request body cannot be read', 'Send valid JSON (or YAML where a spec is taken).'),
  media_type_unsupported: row('invalid', 'The media type is not understood', 'Send `application/json`.', {
    status: 415,
  }),
  range_invalid: row(
    'invalid',
    'The range lies outside of the file',
    'Ask for a range within the size that `stat` tells.',
    { status: 416 },
  ),
  cursor_invalid: row(
    'invalid',
    'The page cursor is not valid',
    'Use the `next` of the previous page unchanged, or start without one.',
  ),
  idempotency_key_reused: row(
    'conflict',
    'The idempotency key was used with another request',
    'Use a new key for a new request.',
  ),
  idempotency_in_progress: row(
    'conflict',
    'A request with this idempotency key is still running',
    'Repeat the request in a moment; it will answer the same.',
    later,
  ),

  tool_call_reused: row(
    'conflict',
    'The id of the tool call was used with another request',
    'Use a new id for a new call.',
  ),
  file_invalid: row(
    'invalid',
    'The file operation does not fit the file',
    'The message says what is in the way: a folder where a file is meant, a name that is too long, a folder that is not empty.',
  ),
  file_not_directory: row(
    'invalid',
    'A part of the path is not a folder',
    'Check the path; `stat` of each part of it tells which one is a file.',
  ),
  file_busy: row(
    'conflict',
    'The file or folder is in use',
    'Something is mounted there, or a program runs from it; end that first.',
  ),
  command_not_found: row(
    'invalid',
    'The program cannot be found or run in the sandbox',
    'Check its path and mode, the working directory, and that the image has it; text is run by `/bin/sh`.',
  ),
  edit_conflict: row(
    'conflict',
    'The text to replace is not in the file exactly once',
    'Read the file again; give more of the text around it, or `all`.',
  ),
  websocket_needed: row('invalid', 'The route is a WebSocket', 'Connect to it with a WebSocket client.', {
    status: 426,
  }),
  file_exists: row('conflict', 'There is already something of that name', 'Choose another name, or replace it.'),

  // Who asks
  unauthenticated: row(
    'unauthenticated',
    'A valid API key is needed',
    'Send `Authorization: Bearer <key>` or `X-API-Key`; `caisson keys create` makes one.',
  ),
  scope_missing: row('forbidden', 'The key lacks a scope', 'Use a key with the scope that the message names.'),
  preview_refused: row(
    'unauthenticated',
    'There is no such preview, or it is not open to you',
    'Open it with its link, or send its token as `x-caisson-preview-token`; `caisson port link` makes a link.',
  ),
  host_refused: row(
    'forbidden',
    'The Host or Origin is not one of this server',
    'Call it by its own address; add the name to `--allow-host` if it is yours.',
    { status: 421 },
  ),
  not_owner: row(
    'forbidden',
    'The sandbox belongs to another principal of the project',
    'Ask its principal, or use a key with the scope `manage`.',
  ),

  file_forbidden: row(
    'forbidden',
    'The user in the sandbox may not do this to the file',
    'Act as another user, such as `root`, or change its mode.',
  ),

  // Things that are not there
  route_not_found: row('not_found', 'There is no such route', 'See `/docs` for the routes.'),
  method_not_allowed: row('not_found', 'The route does not take this method', 'See `/docs` for the routes.', {
    status: 405,
  }),
  sandbox_not_found: row('not_found', 'There is no such sandbox', '`caisson list` shows yours.'),
  profile_not_found: row('not_found', 'There is no such profile', '`caisson profile list` shows them.'),
  snapshot_not_found: row('not_found', 'There is no such snapshot', '`caisson snapshots list` shows them.'),
  tool_not_found: row('not_found', 'There is no such tool', '`caisson tool list` shows them.'),
  process_not_found: row('not_found', 'There is no such process', '`caisson ps` shows those of a sandbox.'),
  port_not_open: row('not_found', 'The port is not open to the outside', 'Open it first: `caisson port open`.'),
  job_not_found: row('not_found', 'There is no such job', 'It may have been pruned; the attempt still says what ran.'),
  key_not_found: row('not_found', 'There is no such API key', '`caisson keys list` shows them.'),
  secret_not_found: row('not_found', 'There is no such secret', '`caisson secret list` shows those of the project.'),
  build_not_found: row('not_found', 'There is no such build', '`caisson build list` shows those of your project.'),
  attempt_not_found: row('not_found', 'There is no such attempt', '`caisson get` shows the attempts of a sandbox.'),
  image_not_found: row(
    'not_found',
    'The image cannot be found',
    'Check the reference; `caisson doctor` shows which registries answer.',
  ),
  driver_not_found: row(
    'not_found',
    'There is no such driver',
    '`caisson doctor` lists the drivers of this installation.',
  ),
  host_not_found: row('not_found', 'There is no such host', '`caisson inspect host` lists them.'),
  file_not_found: row('not_found', 'There is no such file or folder in the sandbox', 'List the folder above it.'),
} as const satisfies Record<string, ErrorRow>;
