// Text and tokens by the lists that a GGUF file brings: byte-level BPE, special tokens, the turns of a chat.
import { together } from "../../kit/spans.js";
import { Tokenizer } from "../../vendor/tokenizers.js";

const SPECIAL = 3; // of GGUF's types of tokens

const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };

class Codec {
  /** fields: of the file. chat: [what comes before a question, what comes after it], by the file's chat template. */
  constructor(fields, chat) {
    const told = (name) => fields[`tokenizer.ggml.${name}`];
    const tokens = told("tokens");
    const special = told("token_type").flatMap((kind, id) =>
      kind === SPECIAL ? [{ id, content: tokens[id], special: true, normalized: false }] : [],
    );
    this.tokenizer = new Tokenizer(
      {
        model: {
          type: "BPE",
          vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
          merges: told("merges"),
        },
        added_tokens: special,
        normalizer: null,
        post_processor: null,
        pre_tokenizer: BYTE_LEVEL,
        decoder: BYTE_LEVEL,
      },
      {},
    );
    Object.assign(this, { chat, size: tokens.length, ends: [told("eos_token_id")], known: new Map() });
  }

  /** The ids of a prompt. as: "chat" or "text". */
  encode(text, as) {
    const [before, after] = as === "chat" ? this.chat : ["", ""];
    return this.tokenizer.encode(before + text + after, { add_special_tokens: false }).ids;
  }

  decode(ids) {
    const how = { skip_special_tokens: true, clean_up_tokenization_spaces: false };
    return ids.length ? this.tokenizer.decode(ids, how) : "";
  }

  /** The text of one token, special ones by name; bytes that are a part of a character in hexadecimal. */
  piece(token) {
    return this.told(token).piece;
  }

  /** Which token it is, as a trace says it; with its bytes where it is not whole characters. */
  told(token) {
    if (!this.known.has(token)) {
      const piece = this.tokenizer.decode([token], { skip_special_tokens: false, clean_up_tokenization_spaces: false });
      const bytes = piece.includes("�") ? this.bytesOf(token) : "";
      const own = bytes ? together([{ bytes }]) : piece;
      this.known.set(token, own === piece ? { token, piece } : { token, piece: own, bytes });
    }
    return this.known.get(token);
  }

  /** In hexadecimal; "" for a token whose name is not made of bytes. */
  bytesOf(token) {
    const bytes = [...this.tokenizer.id_to_token(token)].map((sign) => this.tokenizer.decoder.byte_decoder[sign]);
    const hex = bytes.map((byte) => Number(byte).toString(16).padStart(2, "0").toUpperCase());
    return bytes.includes(undefined) ? "" : hex.join("");
  }
}

export { Codec };
