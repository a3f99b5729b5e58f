import { type ErrorRow, later, row } from './kinds.ts';

/** What went wrong below, or inside. */
export const componentErrors = {
  // Components below
  driver_failed: row(
    'failed',
    'The driver could not do it',
    'The context has its last words; `caisson doctor` checks the backend.',
  ),
  driver_unavailable: row(
    'unavailable',
    'The driver cannot be used on this machine',
    '`caisson doctor` says why and what to install.',
  ),
  driver_timeout: row(
    'timeout',
    'The driver did not finish in time',
    'Repeat it; `caisson doctor` checks the backend.',
    later,
  ),
  no_route: row('unavailable', 'No backend can serve this', 'The context lists the reason of each candidate.'),
  circuit_open: row(
    'unavailable',
    'The backend failed several times and is left alone for a while',
    'Repeat it in a moment; `caisson doctor` checks the backend.',
    later,
  ),
  host_full: row(
    'unavailable',
    'The host has no room for another sandbox',
    'Destroy some, or repeat it when there is room; `caisson inspect host` tells.',
    later,
  ),
  self_check_failed: row(
    'failed',
    'The new sandbox is not what it should be',
    'The message names the check; `caisson events` has all of them, `caisson doctor` checks the backend.',
  ),
  guest_failed: row('failed', 'The guest in the sandbox failed', 'Recreate the sandbox; its events have the details.'),
  guest_unreachable: row(
    'unavailable',
    'The guest in the sandbox does not answer',
    'Repeat it in a moment; recreate the sandbox if it stays so.',
    later,
  ),
  port_refused: row(
    'failed',
    'Nothing listens on the port in the sandbox',
    'Start what should listen there; it may be on its way.',
    later,
  ),
  port_answer_invalid: row(
    'failed',
    'What listens on the port in the sandbox does not speak HTTP as it should',
    'Check that it serves plain HTTP/1.1; other protocols go through `caisson port forward`.',
  ),
  instance_lost: row(
    'failed',
    'The sandbox has vanished from its backend',
    'Recreate it; the backend or somebody else removed it.',
  ),
  out_of_memory: row(
    'failed',
    'The sandbox ran out of memory',
    'Recreate it with a larger `runtime.resources.memoryMiB`.',
  ),
  storage_failed: row(
    'failed',
    'The storage could not do it',
    'The context has its last words; `caisson doctor` checks the storage.',
  ),
  storage_full: row(
    'unavailable',
    'The storage pool is full',
    'Destroy sandboxes or snapshots, or grow the pool.',
    later,
  ),
  build_failed: row(
    'failed',
    'The image could not be built',
    'The context names the step; `caisson build logs` has all of it.',
  ),
  source_not_found: row(
    'invalid',
    'The source is not there',
    'Check its address and its `ref`; a private repository that is not told who asks may answer the same.',
  ),
  source_denied: row(
    'invalid',
    'The source refuses whoever asks',
    'Store a credential with `caisson secret set`, bound to its host, and name it with `authRef`.',
  ),
  source_unreachable: row(
    'unavailable',
    'The source cannot be reached',
    'The message says why; check `runtime.network` of the spec, or repeat it when the host is back.',
    later,
  ),
  source_failed: row('failed', 'The source could not be brought', 'The message names the source and what went wrong.'),
  build_cancelled: row(
    'conflict',
    'The build was cancelled',
    'Somebody stopped it; `caisson recreate` begins it again.',
  ),
  startup_failed: row(
    'failed',
    'A startup step of the sandbox failed',
    'The context has its last lines; correct the step, then `caisson recreate`.',
  ),
  registry_failed: row('failed', 'The image registry refused or failed', 'Check the reference and the credentials.'),
  image_invalid: row(
    'failed',
    'The image is not valid',
    'Its content is not what its digest or its format promises; build or push it again.',
  ),
  image_in_use: row(
    'conflict',
    'The image is in use',
    'Destroy the sandboxes and snapshots that stand on it; `caisson image gc` removes what nothing uses.',
  ),
  images_not_available: row(
    'not_supported',
    'This server keeps no images',
    'Start it with a driver that needs them, such as `oci`.',
  ),
  image_not_portable: row(
    'not_supported',
    'The image cannot leave this machine',
    'It shows folders of the machine; take a distribution or an image as its base.',
  ),
  image_too_large: row(
    'invalid',
    'The image is larger than it may be',
    'Use a smaller image; the message names the bound.',
    { status: 413 },
  ),
  database_unavailable: row(
    'unavailable',
    'The database does not answer',
    'Repeat it when it is back; `/readyz` tells.',
    later,
  ),
  secret_unreadable: row(
    'unavailable',
    'A stored secret cannot be read',
    'Give the server the key that it was stored with, or set the secret again; `caisson doctor` says which key is used.',
  ),
  data_folder_locked: row(
    'unavailable',
    'Another server uses the data folder',
    'Use that one, or stop it: `caisson stop-server`.',
  ),
  data_folder_newer: row(
    'unavailable',
    'The data folder was written by a newer version',
    'Install that version or a later one.',
  ),
  data_folder_unusable: row(
    'unavailable',
    'The data folder cannot be used',
    'Choose another with `--data` or `CAISSON_DATA_FOLDER`.',
  ),
  address_in_use: row('unavailable', 'The address is in use', 'Choose another with `--listen`, or stop what uses it.'),
  address_unavailable: row(
    'unavailable',
    'The address cannot be listened on',
    'Choose another with `--listen`, or run the server with the rights that it needs.',
  ),
  listen_needs_key: row(
    'invalid',
    'An address that others can reach needs an API key',
    'Make one first with `caisson keys create`, or listen on loopback.',
  ),
  server_unreachable: row(
    'unavailable',
    'The server cannot be reached',
    'Start one with `caisson serve`, or check the address.',
    later,
  ),
  shutting_down: row('unavailable', 'The server is shutting down', 'Repeat it in a moment.', later),
  request_timeout: row('timeout', 'The request took too long', 'Repeat it, or raise its time limit.', later),
  interrupted: row(
    'unavailable',
    'The operation was interrupted',
    'The record says what was done and undone; repeat it.',
    later,
  ),
  internal: row(
    'internal',
    'Something went wrong inside Caisson',
    'Report it with the request id; the log has the rest.',
  ),
} as const satisfies Record<string, ErrorRow>;
