// Upsampling and colour of SumRowsScalar and its fellows, for the vectors before this. Pixels are computed in words,
// the even ones in one vector and the odd ones in another.

namespace stoker::STOKER_VECTORS {

struct EvenOdd {
  Vector even;
  Vector odd;
};

STOKER_OP EvenOdd Words(Vector bytes) { return {And(bytes, Set16(255)), ShiftRight16<8>(bytes)}; }
STOKER_OP EvenOdd Centered(EvenOdd words) { return {Sub16(words.even, Set16(128)), Sub16(words.odd, Set16(128))}; }

// (-0.34414 cb - 0.71414 cr) rounded at 16 bits of fraction, plus cr so that the factors fit into 16 bits.
STOKER_OP Vector GreenPart(Vector cb, Vector cr) {
  const Vector factors = Pair(-22554, 65536 - 46802);
  const Vector half = Set32(1 << 15);
  const Vector even = AddPairs(half, MergeWords(cb, ShiftLeft32<16>(cr)), factors);
  const Vector odd = AddPairs(half, MergeWords(ShiftRight32<16>(cb), cr), factors);
  return MergeWords(ShiftRight32<16>(even), odd);
}

// The whole parts of 1.402 and 1.772 are added, the rest (0.402; 1.772 - 2) is one rounding multiplication, which
// rounds all 256 values as libjpeg does.
STOKER_OP void StoreColors(EvenOdd y, EvenOdd cb, EvenOdd cr, uint8_t* rgb) {
  const Vector red_factor = Set16(13172);
  const Vector blue_factor = Set16(-7471);
  const Vector r = PackToBytes(Add16(Add16(y.even, cr.even), MultiplyRounded16(cr.even, red_factor)),
                               Add16(Add16(y.odd, cr.odd), MultiplyRounded16(cr.odd, red_factor)));
  const Vector b = PackToBytes(Add16(Add16(y.even, cb.even), Add16(cb.even, MultiplyRounded16(cb.even, blue_factor))),
                               Add16(Add16(y.odd, cb.odd), Add16(cb.odd, MultiplyRounded16(cb.odd, blue_factor))));
  const Vector g = PackToBytes(Add16(Sub16(y.even, cr.even), GreenPart(cb.even, cr.even)),
                               Add16(Sub16(y.odd, cr.odd), GreenPart(cb.odd, cr.odd)));
  StorePixels(r, g, b, rgb);
}

STOKER_KERNEL inline void Color(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t width, uint8_t* rgb) {
  for (size_t x = 0; x < width; x += kVectorBytes) {
    StoreColors(Words(Load(y + x)), Centered(Words(Load(cb + x))), Centered(Words(Load(cr + x))), rgb + 3 * x);
  }
}

STOKER_OP Vector Mixed(const uint16_t* sums, const Taps::Pixel& pixel) {
  const Vector near_sums = Load(sums + pixel.near_offset);
  const Vector thrice = Add16(Add16(near_sums, near_sums), near_sums);
  return ShiftRight16<4>(Add16(Add16(thrice, Load(sums + pixel.far_offset)), Set16(pixel.bias)));
}
STOKER_KERNEL inline void ColorDoubled(const uint8_t* y, const uint16_t* cb, const uint16_t* cr, const Taps& taps,
                                       size_t width, uint8_t* rgb) {
  const Taps::Pixel even = taps.pixel[0];
  const Taps::Pixel odd = taps.pixel[1];
  for (size_t x = 0; x < width; x += kVectorBytes) {
    const uint16_t* const b = cb + x / 2;
    const uint16_t* const r = cr + x / 2;
    StoreColors(Words(Load(y + x)), Centered({Mixed(b, even), Mixed(b, odd)}),
                Centered({Mixed(r, even), Mixed(r, odd)}), rgb + 3 * x);
  }
}

STOKER_KERNEL inline void Gray(const uint8_t* y, size_t width, uint8_t* rgb) {
  for (size_t x = 0; x < width; x += kVectorBytes) {
    const EvenOdd words = Words(Load(y + x));
    const Vector bytes = PackToBytes(words.even, words.odd);
    StorePixels(bytes, bytes, bytes, rgb + 3 * x);
  }
}

STOKER_KERNEL inline void SumRows(const uint8_t* near_row, const uint8_t* far_row, size_t count, uint16_t* sums) {
  for (size_t i = 0; i < count; i += kVectorBytes / 2) {
    const Vector near_words = LoadWidened(near_row + i);
    const Vector thrice = Add16(Add16(near_words, near_words), near_words);
    Store(Add16(thrice, LoadWidened(far_row + i)), sums + i);
  }
}

STOKER_OP Vector MixedRows(Vector near_words, Vector far_words, Vector bias) {
  const Vector thrice = Add16(Add16(near_words, near_words), near_words);
  return ShiftRight16<2>(Add16(Add16(thrice, far_words), bias));
}
STOKER_KERNEL inline void MixRows(const uint8_t* near_row, const uint8_t* far_row, int bias, size_t count,
                                  uint8_t* mixed) {
  const Vector biases = Set16(bias);
  for (size_t i = 0; i < count; i += kVectorBytes) {
    const EvenOdd near_words = Words(Load(near_row + i));
    const EvenOdd far_words = Words(Load(far_row + i));
    const Vector even = MixedRows(near_words.even, far_words.even, biases);
    const Vector odd = MixedRows(near_words.odd, far_words.odd, biases);
    Store(Or(even, ShiftLeft16<8>(odd)), mixed + i);
  }
}

}  // namespace stoker::STOKER_VECTORS
