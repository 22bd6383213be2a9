#include "tests/decode/encode_bytes.h"

namespace stoker {

Bytes EncodeBmp(const Picture& picture, const BmpOptions& options) {
  const auto [width, height] = picture.size;
  const uint32_t row_bytes = static_cast<uint32_t>((width * options.bits + 31) / 32 * 4);
  const uint32_t palette_bytes = options.bits == 8 ? 1024 : 0;
  const uint32_t pixels_offset = 54 + palette_bytes;
  Bytes out;
  Append(out, "BM");
  for (const uint32_t field : {pixels_offset + row_bytes * static_cast<uint32_t>(height), 0u, pixels_offset, 40u,
                               static_cast<uint32_t>(width), static_cast<uint32_t>(options.top_down ? -height : height),
                               static_cast<uint32_t>(options.bits) << 16 | 1u, 0u, 0u, 0u, 0u, palette_bytes / 4, 0u}) {
    AppendNumber(out, field, 4, false);
  }
  for (uint32_t i = 0; i < palette_bytes / 4; ++i) AppendNumber(out, i * 0x010101, 4, false);
  for (int i = 0; i < height; ++i) {
    const int y = options.top_down ? i : height - 1 - i;
    Bytes row;
    for (int x = 0; x < width; ++x) {
      const uint8_t* const p = picture.at(x, y);
      if (options.bits == 8) {
        row.push_back(p[0]);
      } else {
        row.insert(row.end(), {p[2], p[1], p[0]});
        if (options.bits == 32) row.push_back(static_cast<uint8_t>(x));
      }
    }
    row.resize(row_bytes);
    Append(out, row);
  }
  return out;
}

Bytes EncodeTiff(const Picture& picture, const TiffOptions& options) {
  const bool big = options.big_endian;
  const auto samples = static_cast<uint32_t>(picture.channels);
  const auto bits = static_cast<uint32_t>(options.bits);
  Bytes pixels;
  for (const uint8_t sample : picture.pixels) {
    AppendNumber(pixels, bits == 16 ? static_cast<uint32_t>(sample << 8 | LowByte(sample)) : sample, bits == 16 ? 2 : 1,
                 big);
  }
  const uint32_t bits_offset = 8 + static_cast<uint32_t>(pixels.size() + pixels.size() % 2);
  const uint32_t directory_offset = bits_offset + 2 * samples;

  struct Entry {
    uint16_t tag;
    uint16_t type;  // 3 SHORT, 4 LONG
    uint32_t count;
    uint32_t value;
  };
  std::vector<Entry> entries = {{256, 4, 1, static_cast<uint32_t>(picture.size.width)},
                                {257, 4, 1, static_cast<uint32_t>(picture.size.height)},
                                {258, 3, samples, samples > 1 ? bits_offset : bits},
                                {259, 3, 1, 1},
                                {262, 3, 1, samples >= 3 ? 2u : 1u},
                                {273, 4, 1, 8}};
  if (options.orientation != 0) entries.push_back({274, 3, 1, static_cast<uint32_t>(options.orientation)});
  entries.push_back({277, 3, 1, samples});
  entries.push_back({278, 4, 1, static_cast<uint32_t>(picture.size.height)});
  entries.push_back({279, 4, 1, static_cast<uint32_t>(pixels.size())});
  if (samples == 4) entries.push_back({338, 3, 1, static_cast<uint32_t>(options.extra_samples)});
  entries.push_back({339, 3, 1, static_cast<uint32_t>(options.sample_format)});

  Bytes out;
  Append(out, big ? "MM" : "II");
  AppendNumber(out, 42, 2, big);
  AppendNumber(out, directory_offset, 4, big);
  Append(out, pixels);
  out.resize(bits_offset);
  for (uint32_t i = 0; i < samples; ++i) AppendNumber(out, bits, 2, big);
  AppendNumber(out, static_cast<uint32_t>(entries.size()), 2, big);
  for (const Entry& entry : entries) {
    AppendNumber(out, entry.tag, 2, big);
    AppendNumber(out, entry.type, 2, big);
    AppendNumber(out, entry.count, 4, big);
    const bool is_short_value = entry.type == 3 && entry.count == 1;
    AppendNumber(out, entry.value, is_short_value ? 2 : 4, big);
    if (is_short_value) AppendNumber(out, 0, 2, big);
  }
  AppendNumber(out, 0, 4, big);
  return out;
}

}  // namespace stoker
