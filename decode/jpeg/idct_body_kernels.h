// The inverse transforms of TransformScalar, for the vectors and the Group before this. A vector holds eight words or
// four sums of each of its blocks.

namespace stoker::STOKER_VECTORS {

// Factors of pairs of words.
STOKER_OP Vector Pair(int even, int odd) {
  return Set32(static_cast<int>(static_cast<uint32_t>(odd) << 16 | (static_cast<uint32_t>(even) & 0xffff)));
}

// What the rounding of each pass adds; the second also takes the samples' center.
inline constexpr int kRound1 = 1 << 10;
inline constexpr int kRound2 = (128 << 18) + (1 << 17);
inline constexpr int kHalfRound1 = 1 << 11;
inline constexpr int kHalfRound2 = (128 << 19) + (1 << 18);

STOKER_OP void Butterflies(const Vector* even, const Vector* odd, Vector* sums) {
  for (size_t i = 0; i < 4; ++i) {
    sums[i] = Add32(even[i], odd[i]);
    sums[7 - i] = Sub32(even[i], odd[i]);
  }
}

// A pass over four columns (or rows) of each block, from pairs of its places 0 and 4, 2 and 6, 7 and 1, 3 and 5. The
// factors are sums of the algorithm's: no value is added to another before it is multiplied, so that 32 bits hold all.
STOKER_OP void Pass(const Vector* pairs, Vector round, Vector* sums) {
  const Vector even04 = AddPairs(round, pairs[0], Pair(8192, 8192));
  const Vector odd04 = AddPairs(round, pairs[0], Pair(8192, -8192));
  const Vector even[4] = {AddPairs(even04, pairs[1], Pair(10703, 4433)), AddPairs(odd04, pairs[1], Pair(4433, -10704)),
                          AddPairs(odd04, pairs[1], Pair(-4433, 10704)),
                          AddPairs(even04, pairs[1], Pair(-10703, -4433))};
  const Vector odd[4] = {
      AddPairs(MultiplyPairs(pairs[2], Pair(2260, 11363)), pairs[3], Pair(9633, 6437)),
      AddPairs(MultiplyPairs(pairs[2], Pair(-6436, 9633)), pairs[3], Pair(-2259, -11362)),
      AddPairs(MultiplyPairs(pairs[2], Pair(9633, 6437)), pairs[3], Pair(-11362, 2261)),
      AddPairs(MultiplyPairs(pairs[2], Pair(-11363, 2260)), pairs[3], Pair(-6436, 9633)),
  };
  Butterflies(even, odd, sums);
}

// The same where places 4 to 7 are zero, from pairs of 0 and 2, 1 and 3.
STOKER_OP void CornerPass(Vector pair02, Vector pair13, Vector round, Vector* sums) {
  const Vector even[4] = {AddPairs(round, pair02, Pair(8192, 10703)), AddPairs(round, pair02, Pair(8192, 4433)),
                          AddPairs(round, pair02, Pair(8192, -4433)), AddPairs(round, pair02, Pair(8192, -10703))};
  const Vector odd[4] = {MultiplyPairs(pair13, Pair(11363, 9633)), MultiplyPairs(pair13, Pair(9633, -2259)),
                         MultiplyPairs(pair13, Pair(6437, -11362)), MultiplyPairs(pair13, Pair(2260, -6436))};
  Butterflies(even, odd, sums);
}

STOKER_OP void HalfButterflies(Vector even0, Vector even1, Vector odd0, Vector odd1, Vector* sums) {
  sums[0] = Add32(even0, odd0);
  sums[1] = Add32(even1, odd1);
  sums[2] = Sub32(even1, odd1);
  sums[3] = Sub32(even0, odd0);
}
STOKER_OP void HalfPass(const Vector* pairs, Vector round, Vector* sums) {
  const Vector dc = AddPairs(round, pairs[0], Pair(16384, 0));
  const Vector z2 = MultiplyPairs(pairs[1], Pair(15137, -6270));
  HalfButterflies(Add32(dc, z2), Sub32(dc, z2),
                  AddPairs(MultiplyPairs(pairs[2], Pair(-4176, 20995)), pairs[3], Pair(7373, -4926)),
                  AddPairs(MultiplyPairs(pairs[2], Pair(-1730, 8697)), pairs[3], Pair(-17799, 11893)), sums);
}
STOKER_OP void HalfCornerPass(Vector pair02, Vector pair13, Vector round, Vector* sums) {
  HalfButterflies(AddPairs(round, pair02, Pair(16384, 15137)), AddPairs(round, pair02, Pair(16384, -15137)),
                  MultiplyPairs(pair13, Pair(20995, 7373)), MultiplyPairs(pair13, Pair(8697, -17799)), sums);
}

// Collects, in the words' signs, whether any sum of the first pass was too large.
STOKER_OP Vector Excess(Vector excess, Vector a, Vector b) {
  static_assert(kMaxColumnSum == 16383);
  return Or(excess, Add16(a, Set16(16384)), Add16(b, Set16(16384)));
}

// Four rows, each with its pairs of columns beside each other, to the pairs of four rows each.
STOKER_OP void TransposePairs(const Vector* rows, Vector* pairs) {
  const Vector low01 = ZipLow32(rows[0], rows[1]);
  const Vector high01 = ZipHigh32(rows[0], rows[1]);
  const Vector low23 = ZipLow32(rows[2], rows[3]);
  const Vector high23 = ZipHigh32(rows[2], rows[3]);
  pairs[0] = ZipLow64(low01, low23);
  pairs[1] = ZipHigh64(low01, low23);
  pairs[2] = ZipLow64(high01, high23);
  pairs[3] = ZipHigh64(high01, high23);
}

// Sums of the eight columns of rows 0 to 3 and of rows 4 to 7, to samples.
STOKER_OP void StoreSamples(const Vector* low, const Vector* high, uint8_t* samples, size_t stride_bytes) {
  Vector column[8];
  for (size_t i = 0; i < 8; ++i) column[i] = Pack32(ShiftRightSigned32<18>(low[i]), ShiftRightSigned32<18>(high[i]));
  Vector quad[2][2];  // columns 0 to 3 and 4 to 7, of the upper and the lower rows
  for (size_t i = 0; i < 2; ++i) {
    const Vector even = PackToBytes(column[4 * i], column[4 * i + 2]);
    const Vector odd = PackToBytes(column[4 * i + 1], column[4 * i + 3]);
    const Vector pair01 = ZipLow8(even, odd);
    const Vector pair23 = ZipHigh8(even, odd);
    quad[i][0] = ZipLow16(pair01, pair23);
    quad[i][1] = ZipHigh16(pair01, pair23);
  }
  for (size_t i = 0; i < 2; ++i, samples += 4 * stride_bytes) {
    StoreTwoRows(ZipLow32(quad[0][i], quad[1][i]), samples, stride_bytes);
    StoreTwoRows(ZipHigh32(quad[0][i], quad[1][i]), samples + 2 * stride_bytes, stride_bytes);
  }
}
STOKER_OP void StoreHalfSamples(Vector* sums, uint8_t* samples, size_t stride_bytes) {
  for (size_t i = 0; i < 4; ++i) sums[i] = ShiftRightSigned32<19>(sums[i]);
  const Vector columns = PackToBytes(Pack32(sums[0], sums[2]), Pack32(sums[1], sums[3]));
  const Vector pairs = ZipLow8(columns, UpperHalf(columns));
  StoreHalfRows(ZipLow16(pairs, UpperHalf(pairs)), samples, stride_bytes);
}

// Blocks of which nothing is known.
struct FullSize {
  static constexpr size_t kEdge = 8;

  STOKER_OP static Vector All(const Vector* words, Vector excess, uint8_t* samples, size_t stride_bytes) {
    const Vector pairs[2][4] = {{words[0], words[2], words[4], words[6]}, {words[1], words[3], words[5], words[7]}};
    Vector sums[2][8];
    Vector rows[8];
    for (size_t i = 0; i < 2; ++i) Pass(pairs[i], Set32(kRound1), sums[i]);
    for (size_t i = 0; i < 8; ++i) {
      rows[i] = Pack32(ShiftRightSigned32<11>(sums[0][i]), ShiftRightSigned32<11>(sums[1][i]));
    }
    for (size_t i = 0; i < 8; i += 2) excess = Excess(excess, rows[i], rows[i + 1]);
    for (size_t i = 0; i < 2; ++i) {
      Vector transposed[4];
      TransposePairs(rows + 4 * i, transposed);
      Pass(transposed, Set32(kRound2), sums[i]);
    }
    StoreSamples(sums[0], sums[1], samples, stride_bytes);
    return excess;
  }

  STOKER_OP static Vector Corner(Vector even, Vector odd, Vector excess, uint8_t* samples, size_t stride_bytes) {
    Vector sums[2][8];
    CornerPass(even, odd, Set32(kRound1), sums[0]);
    for (size_t i = 0; i < 8; ++i) sums[0][i] = ShiftRightSigned32<11>(sums[0][i]);
    Vector rows[4];
    for (size_t i = 0; i < 4; ++i) rows[i] = Pack32(sums[0][2 * i], sums[0][2 * i + 1]);
    excess = Excess(Excess(excess, rows[0], rows[1]), rows[2], rows[3]);
    for (size_t i = 0; i < 2; ++i) {
      CornerPass(EvenPairs(rows[2 * i], rows[2 * i + 1]), OddPairs(rows[2 * i], rows[2 * i + 1]), Set32(kRound2),
                 sums[i]);
    }
    StoreSamples(sums[0], sums[1], samples, stride_bytes);
    return excess;
  }
};

struct HalfSize {
  static constexpr size_t kEdge = 4;

  STOKER_OP static Vector All(const Vector* words, Vector excess, uint8_t* samples, size_t stride_bytes) {
    const Vector pairs[2][4] = {{words[0], words[2], words[4], words[6]}, {words[1], words[3], words[5], words[7]}};
    Vector sums[2][4];
    Vector rows[4];
    for (size_t i = 0; i < 2; ++i) HalfPass(pairs[i], Set32(kHalfRound1), sums[i]);
    for (size_t i = 0; i < 4; ++i) {
      rows[i] = Pack32(ShiftRightSigned32<12>(sums[0][i]), ShiftRightSigned32<12>(sums[1][i]));
    }
    excess = Excess(Excess(excess, rows[0], rows[1]), rows[2], rows[3]);
    Vector transposed[4];
    TransposePairs(rows, transposed);
    HalfPass(transposed, Set32(kHalfRound2), sums[0]);
    StoreHalfSamples(sums[0], samples, stride_bytes);
    return excess;
  }

  STOKER_OP static Vector Corner(Vector even, Vector odd, Vector excess, uint8_t* samples, size_t stride_bytes) {
    Vector sums[4];
    HalfCornerPass(even, odd, Set32(kHalfRound1), sums);
    for (Vector& sum : sums) sum = ShiftRightSigned32<12>(sum);
    const Vector rows01 = Pack32(sums[0], sums[1]);
    const Vector rows23 = Pack32(sums[2], sums[3]);
    excess = Excess(excess, rows01, rows23);
    HalfCornerPass(EvenPairs(rows01, rows23), OddPairs(rows01, rows23), Set32(kHalfRound2), sums);
    StoreHalfSamples(sums, samples, stride_bytes);
    return excess;
  }
};

// Blocks that are all DC: (dc + 4) >> 3, eight times over. Returns, not 0, whether one is too large.
template <size_t kEdge>
STOKER_OP uint32_t StoreFlat(const Group& group, int quantizer, uint8_t* samples, size_t stride_bytes) {
  static_assert(kMaxColumnSum == 4 * 4096 - 1);
  alignas(32) uint64_t row[kVectorBlocks];
  uint32_t excess = 0;
  for (size_t k = 0; k < kVectorBlocks; ++k) {
    const int dc = static_cast<int16_t>(group.dc(k) * quantizer);
    excess |= static_cast<uint32_t>(dc + 4096) >> 13;
    const int sample = ((dc + 4) >> 3) + 128;
    row[k] = static_cast<uint64_t>(sample < 0 ? 0 : sample > 255 ? 255 : sample) * 0x0101010101010101U;
  }
  for (size_t y = 0; y < kEdge; ++y) {
    if constexpr (kEdge == 8) {
      StoreFlatRow(row, samples + y * stride_bytes);
    } else {
      for (size_t k = 0; k < kVectorBlocks; ++k) std::memcpy(samples + y * stride_bytes + kEdge * k, &row[k], kEdge);
    }
  }
  return excess;
}

template <class Size>
STOKER_KERNEL bool Transform(const CoefficientBlock* blocks, size_t count, const Quantizers& quantizers,
                             uint8_t* samples, size_t stride_bytes) {
  Group group;
  Vector excess = Zero();
  uint32_t flat_excess = 0;
  for (size_t at = 0; at < count; at += kVectorBlocks, samples += kVectorBlocks * Size::kEdge) {
    const uint64_t mask = group.Open(blocks + at, count - at < kVectorBlocks ? count - at : kVectorBlocks);
    if (mask == 0) {
      flat_excess |= StoreFlat<Size::kEdge>(group, quantizers.natural[0], samples, stride_bytes);
    } else if ((mask & ~kCornerMask) == 0) {
      Vector even_rows;
      Vector odd_rows;
      group.TakeCorner(even_rows, odd_rows);
      excess = Size::Corner(MultiplyLow16(even_rows, LoadForAll(&quantizers.corner[0])),
                            MultiplyLow16(odd_rows, LoadForAll(&quantizers.corner[8])), excess, samples, stride_bytes);
    } else {
      Vector words[8];
      group.TakeAll(mask, words);
      for (size_t i = 0; i < 8; ++i) words[i] = MultiplyLow16(words[i], LoadForAll(&quantizers.paired[8 * i]));
      excess = Size::All(words, excess, samples, stride_bytes);
    }
  }
  return flat_excess == 0 && !HasNegative16(excess);
}

}  // namespace stoker::STOKER_VECTORS
