// Feeds written by hand, for what no writer of ours would write.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "loader/monitor/feed_reader.h"
#include "tests/loader/picture_folder.h"

namespace stoker {

struct MadeUpRecord {
  uint64_t sequence = 1;
  std::string text;
  int64_t published_ns = 1;
};

inline std::string BytesOfFeed(const FeedHeader& header, const std::vector<MadeUpRecord>& records) {
  std::string bytes(kFeedBytes, '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (size_t i = 0; i < records.size(); ++i) {
    FeedRecord record;
    record.sequence = records[i].sequence;
    record.published_ns = records[i].published_ns;
    record.text_bytes = records[i].text.size();
    record.checksum = FeedChecksum(record, records[i].text);
    char* const at = bytes.data() + kFeedRecordOffset + i * kFeedRecordBytes;
    std::memcpy(at, &record, sizeof(record));
    std::ranges::copy(records[i].text, at + sizeof(record));
  }
  return bytes;
}

inline void WriteFeed(const TempFolder& folder, const std::string& bytes, int32_t pid, int number = 0) {
  folder.Write(FeedName(geteuid(), pid, number), Bytes(bytes.begin(), bytes.end()));
}

}  // namespace stoker
