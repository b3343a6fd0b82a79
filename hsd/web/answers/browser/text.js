// Text and tokens by the lists that a GGUF file brings: byte-level BPE, special tokens, the turns of a chat.
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
    Object.assign(this, { chat, size: tokens.length, ends: [told("eos_token_id")], pieces: new Map() });
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

  /** The text of one token, special ones by name. */
  piece(token) {
    if (!this.pieces.has(token)) {
      const how = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
      this.pieces.set(token, this.tokenizer.decode([token], how));
    }
    return this.pieces.get(token);
  }
}

export { Codec };
