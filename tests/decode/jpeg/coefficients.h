// A JPEG's coefficients by way of libjpeg, in the form in which the entropy decoder hands them on.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "decode/jpeg/quantizers.h"
#include "decode/jpeg_frame.h"
#include "tests/decode/encode.h"
#include "tests/decode/jpeg_twin.h"

namespace stoker {

class Coefficients {
 public:
  // Requires: a picture that ReadFrame takes.
  explicit Coefficients(const Bytes& bytes) {
    jpeg_decompress_struct decompress = {};
    jpeg_error_mgr errors;
    decompress.err = jpeg_std_error(&errors);
    errors.emit_message = [](j_common_ptr, int) {};
    jpeg_create_decompress(&decompress);
    jpeg_mem_src(&decompress, bytes.data(), bytes.size());
    jpeg_read_header(&decompress, TRUE);
    is_ours_ = ReadFrame(decompress, 0, frame_);
    if (is_ours_) {
      jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&decompress);
      for (int i = 0; i < frame_.components; ++i) ReadComponent(decompress, arrays[i], static_cast<size_t>(i));
    }
    jpeg_destroy_decompress(&decompress);
  }

  bool is_ours() const { return is_ours_; }
  const JpegFrame& frame() const { return frame_; }

  McuRow Row(const McuWindow& window, int32_t y) const {
    McuRow row;
    for (size_t i = 0; i < static_cast<size_t>(frame_.components); ++i) {
      const JpegComponent& component = frame_.component[i];
      const size_t across = static_cast<size_t>(frame_.mcus_across) * static_cast<size_t>(component.h);
      for (size_t j = 0; j < static_cast<size_t>(component.v); ++j) {
        const size_t block_row = static_cast<size_t>(y * component.v) + j;
        row.blocks[i][j] = &blocks_[i][block_row * across + static_cast<size_t>(window.x0 * component.h)];
      }
    }
    return row;
  }

 private:
  void ReadComponent(jpeg_decompress_struct& decompress, jvirt_barray_ptr array, size_t index) {
    const JpegComponent& component = frame_.component[index];
    const jpeg_component_info& info = decompress.comp_info[index];
    const auto across = static_cast<JDIMENSION>(frame_.mcus_across * component.h);
    const auto down = static_cast<JDIMENSION>(frame_.mcus_down * component.v);
    values_[index].resize(size_t{across} * down * kBlockCoefficients);
    int16_t* values = values_[index].data();
    for (JDIMENSION y = 0; y < down; ++y) {
      for (JDIMENSION x = 0; x < across; ++x, values += kBlockCoefficients) {
        CoefficientBlock block = {0, values, 77};  // nobody may see those that only fill up MCUs
        if (y < info.height_in_blocks && x < info.width_in_blocks) {
          const JBLOCKARRAY rows =
              decompress.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&decompress), array, y, 1, FALSE);
          const JCOEF* const coefficients = rows[0][x];
          block.dc = coefficients[0];
          int16_t* next = values;
          for (size_t k = 1; k < kZigzagPlaces.size(); ++k) {
            const JCOEF value = coefficients[kZigzagPlaces[k]];
            if (value == 0) continue;
            block.mask |= uint64_t{1} << k;
            *next++ = value;
          }
          // What lies behind the values means nothing.
          while (next < values + kBlockCoefficients) *next++ = -32767;
        }
        blocks_[index].push_back(block);
      }
    }
  }

  bool is_ours_ = false;
  JpegFrame frame_;
  std::array<std::vector<int16_t>, kMaxComponents> values_;
  std::array<std::vector<CoefficientBlock>, kMaxComponents> blocks_;
};

// libjpeg's decode of the whole picture at 1/denominator of its size.
inline Picture DecodeWholeAt(const Bytes& bytes, int channels, int denominator) {
  return DecodeWholeByTheManual(bytes, channels == 1 ? JCS_GRAYSCALE : JCS_RGB, static_cast<unsigned>(denominator));
}

// A JPEG of made-up coefficients (natural order, -1023 to 1023) under one quantizer for all; 16-bit tables too.
struct MadeUpJpeg {
  ImageSize size;
  int components = 3;
  int luma_h = 1;
  int luma_v = 1;
  uint16_t quantizer = 1;
  std::function<void(JCOEF*)> fill;  // one block
};

inline Bytes EncodeMadeUp(const MadeUpJpeg& made_up) {
  jpeg_compress_struct compress = {};
  jpeg_error_mgr errors;
  compress.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_compress(&compress);
  unsigned char* memory = nullptr;
  unsigned long length = 0;
  jpeg_mem_dest(&compress, &memory, &length);
  compress.image_width = static_cast<JDIMENSION>(made_up.size.width);
  compress.image_height = static_cast<JDIMENSION>(made_up.size.height);
  compress.input_components = made_up.components;
  compress.in_color_space = made_up.components == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  jpeg_set_defaults(&compress);
  compress.comp_info[0].h_samp_factor = made_up.luma_h;
  compress.comp_info[0].v_samp_factor = made_up.luma_v;
  const std::vector<unsigned> ones(kBlockCoefficients, 1);
  for (int table = 0; table < 2; ++table) {
    jpeg_add_quant_table(&compress, table, ones.data(), 100 * made_up.quantizer, FALSE);
  }
  std::array<jvirt_barray_ptr, kMaxComponents> arrays;
  std::array<std::pair<JDIMENSION, JDIMENSION>, kMaxComponents> sizes;
  for (int i = 0; i < made_up.components; ++i) {
    const jpeg_component_info& info = compress.comp_info[i];
    const auto blocks = [](int pixels, int factor, int most) {
      return static_cast<JDIMENSION>((pixels * factor + 8 * most - 1) / (8 * most));
    };
    auto& [width, height] = sizes[static_cast<size_t>(i)];
    width = blocks(made_up.size.width, info.h_samp_factor, made_up.luma_h);
    height = blocks(made_up.size.height, info.v_samp_factor, made_up.luma_v);
    const auto up = [](JDIMENSION count, int factor) {
      const auto by = static_cast<JDIMENSION>(factor);
      return (count + by - 1) / by * by;
    };
    arrays[static_cast<size_t>(i)] = compress.mem->request_virt_barray(
        reinterpret_cast<j_common_ptr>(&compress), JPOOL_IMAGE, TRUE, up(width, info.h_samp_factor),
        up(height, info.v_samp_factor), static_cast<JDIMENSION>(info.v_samp_factor));
  }
  jpeg_write_coefficients(&compress, arrays.data());
  for (int i = 0; i < made_up.components; ++i) {
    const auto [width, height] = sizes[static_cast<size_t>(i)];
    for (JDIMENSION y = 0; y < height; ++y) {
      const JBLOCKARRAY rows = compress.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&compress),
                                                                arrays[static_cast<size_t>(i)], y, 1, TRUE);
      for (JDIMENSION x = 0; x < width; ++x) made_up.fill(rows[0][x]);
    }
  }
  jpeg_finish_compress(&compress);
  Bytes bytes(memory, memory + length);
  jpeg_destroy_compress(&compress);
  free(memory);
  return bytes;
}

}  // namespace stoker
