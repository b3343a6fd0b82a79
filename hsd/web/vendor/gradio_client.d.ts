// What the page uses of Gradio's client for browsers.

/** A message of a job, or how it stands. */
export interface Event {
  type: string;
  data: string[];
  stage?: string;
  size?: number;
  position?: number;
  eta?: number | null;
  broken?: boolean;
  session_not_found?: boolean;
  message?: string;
}

export interface Job extends AsyncIterator<Event> {
  next(): Promise<IteratorResult<Event, undefined>>;
  return(): Promise<IteratorResult<Event, undefined>>;
  wait_for_id(): Promise<string | null>;
  cancel(): Promise<void>;
}

export class Client {
  constructor(address: string, options: object);
  config: unknown;
  api_info: { named_endpoints: object } | null;
  api_map: unknown;
  api_prefix: string;
  event_callbacks: Record<string, (event: unknown) => void>;
  stream_status: { open: boolean };
  stream_instance: { readyState: number } | null;
  resolve_config(address: string): Promise<object>;
  init(): Promise<void>;
  submit(endpoint: string, data: object): Job;
}
