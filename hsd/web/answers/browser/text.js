// Text and tokens by the lists that a GGUF file brings: byte-level BPE, special tokens, the turns
// of a chat.
import { together } from "../../kit/spans.js";
import { Tokenizer } from "../../vendor/tokenizers.js";

const SPECIAL = 3; // of GGUF's types of tokens
const BYTE_LEVEL = {
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: true,
};

/** Turns text into tokens of the model, and back. */
class Codec {
  /** @type {Map<number, Omit<Committed, "origin">>} */
  known = new Map();

  /**
   * @param {Record<string, any>} fields - of the file
   * @param {[string, string]} chat - what comes before a question, and after it, by the file's chat
   *   template
   */
  constructor(fields, chat) {
    const field = (/** @type {string} */ name) => fields[`tokenizer.ggml.${name}`];
    /** @type {string[]} */
    const tokens = field("tokens");
    /** @type {number[]} */
    const kinds = field("token_type");
    const special = kinds.flatMap((kind, id) => {
      if (kind !== SPECIAL) return [];
      return [{ id, content: tokens[id], special: true, normalized: false }];
    });
    const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
    const model = { type: "BPE", vocab, merges: field("merges") };
    const steps = {
      normalizer: null,
      post_processor: null,
      pre_tokenizer: BYTE_LEVEL,
      decoder: BYTE_LEVEL,
    };
    this.tokenizer = new Tokenizer({ model, added_tokens: special, ...steps }, {});
    this.chat = chat;
    this.size = tokens.length;
    this.ends = [Number(field("eos_token_id"))];
  }

  /** The ids of a prompt. as: "chat" or "text". @param {string} text @param {string} as */
  encode(text, as) {
    const [before, after] = as === "chat" ? this.chat : ["", ""];
    return this.tokenizer.encode(before + text + after, { add_special_tokens: false }).ids;
  }

  decode(/** @type {number[]} */ ids) {
    const how = { skip_special_tokens: true, clean_up_tokenization_spaces: false };
    return ids.length ? this.tokenizer.decode(ids, how) : "";
  }

  /**
   * A token as a trace has it, special ones by name; one that is a part of a character by its
   * bytes, in hexadecimal.
   * @param {number} token
   */
  described(token) {
    const known = this.known.get(token);
    if (known) return known;
    const text = this.tokenizer.decode([token], {
      skip_special_tokens: false,
      clean_up_tokenization_spaces: false,
    });
    const bytes = text.includes("�") ? this.bytesOf(token) : "";
    const piece = bytes ? together([{ bytes }]) : text;
    const description = piece === text ? { token, piece } : { token, piece, bytes };
    this.known.set(token, description);
    return description;
  }

  /**
   * Return the bytes of a token in hexadecimal; "" for one whose name is not made of bytes.
   * @param {number} token
   */
  bytesOf(token) {
    const bytes = [...this.tokenizer.id_to_token(token)].map(
      (sign) => this.tokenizer.decoder.byte_decoder[sign],
    );
    if (bytes.includes(undefined)) return "";
    const hex = bytes.map((byte) => Number(byte).toString(16).padStart(2, "0"));
    return hex.join("").toUpperCase();
  }
}

export { Codec };
