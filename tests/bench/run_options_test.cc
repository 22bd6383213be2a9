#include "bench/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace stoker {
namespace {

using testing::HasSubstr;

RunOptions Parse(std::vector<std::string> words) {
  CLI::App command;
  RunCommandLine line;
  line.AddTo(command);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  command.parse(words);
  return line.Finish();
}

std::vector<std::string> Words(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

// The message that a command line is refused with.
std::string Refusal(const std::vector<std::string>& words) {
  try {
    Parse(words);
  } catch (const CLI::ParseError& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RunOptions, HaveTheDefaultsOfTheHelp) {
  const RunOptions options = Parse({"photos"});
  EXPECT_EQ(options.path, "photos");
  EXPECT_EQ(options.epochs, 1);
  EXPECT_EQ(options.loader.batch_size, 64);
  EXPECT_EQ(options.loader.num_workers, kAutoWorkers);
  EXPECT_TRUE(options.loader.shuffle);
  EXPECT_EQ(options.loader.on_error, OnError::kRaise);
  EXPECT_EQ(options.loader.recipe.element, ElementType::kUint8);
  EXPECT_EQ(options.loader.max_file_bytes, int64_t{256} << 20);
}

TEST(RunOptions, TakeAWordForWorkersThatAreChosen) {
  EXPECT_EQ(Parse({"p", "--num-workers", "auto"}).loader.num_workers, kAutoWorkers);
  EXPECT_EQ(Parse({"p", "--num-workers", "7"}).loader.num_workers, 7);
  EXPECT_THAT(Refusal({"p", "--num-workers", "many"}), testing::AllOf(HasSubstr("--num-workers"), HasSubstr("many")));
}

TEST(RunOptions, TakeAWordOrAFolderForTheIndex) {
  EXPECT_EQ(Parse({"p"}).loader.index, "memory");
  EXPECT_EQ(Parse({"p", "--index", "off"}).loader.index, "off");
  EXPECT_EQ(Parse({"p", "--index", "some/folder"}).loader.index, "some/folder");
  EXPECT_THAT(Refusal({"p", "--index="}), HasSubstr("index"));
}

TEST(RunOptions, TakeEveryOption) {
  const RunOptions options =
      Parse(Words("photos --batch-size 32 --num-workers 3 --prefetch-factor 4 --no-shuffle --seed 9 --epochs "
                  "2 --drop-last --transform eval --size 192 --dtype bfloat16 --layout nhwc --mean "
                  "0.5,0.4,0.3 --std 0.2,0.2,0.1 --decode fast --interpolation bicubic --reader pread "
                  "--queue-depth 8 --device sim --on-error mask --strict --max-errors 7 --exif --channels rgb "
                  "--max-pixels 1000000 --max-file-bytes 1MB --memory-limit 2GB --allow-empty --classes c.txt "
                  "--rank 1 --world-size 2 --step-ms 2.5 --report-every 10 --json r.json --dump d "
                  "--read-deadline 5"));
  EXPECT_EQ(options.loader.batch_size, 32);
  EXPECT_EQ(options.loader.reader, ReaderKind::kPread);
  EXPECT_EQ(options.loader.device, "sim");
  EXPECT_EQ(options.loader.decode, DecodeMode::kFast);
  EXPECT_EQ(options.loader.on_error, OnError::kMask);
  EXPECT_EQ(options.loader.recipe.layout, Layout::kNhwc);
  EXPECT_EQ(options.loader.max_file_bytes, int64_t{1} << 20);
  EXPECT_EQ(options.loader.memory_limit_bytes, int64_t{2} << 30);
  ASSERT_TRUE(std::holds_alternative<Normalize>(options.loader.recipe.ops.back()));
  EXPECT_FLOAT_EQ(std::get<Normalize>(options.loader.recipe.ops.back()).mean[1], 0.4f);
}

TEST(RunOptions, RefuseBadValuesNamingOptionValueAndWhatIsAllowed) {
  EXPECT_THAT(Refusal({"p", "--batch-size", "0"}),
              testing::AllOf(HasSubstr("--batch-size"), HasSubstr("0"), HasSubstr("65536")));
  EXPECT_THAT(Refusal({"p", "--num-workers", "-2"}),
              testing::AllOf(HasSubstr("--num-workers"), HasSubstr("-2"), HasSubstr("512")));
  EXPECT_THAT(Refusal({"p", "--prefetch-factor", "65"}),
              testing::AllOf(HasSubstr("--prefetch-factor"), HasSubstr("65")));
  EXPECT_THAT(Refusal({"p", "--rank", "2", "--world-size", "2"}), HasSubstr("--rank"));
  EXPECT_THAT(Refusal({"p", "--dtype", "int4"}),
              testing::AllOf(HasSubstr("--dtype"), HasSubstr("int4"), HasSubstr("bfloat16")));
  EXPECT_THAT(Refusal({"p", "--transform", "mine"}), testing::AllOf(HasSubstr("--transform"), HasSubstr("train")));
  EXPECT_THAT(Refusal({"p", "--size", "0"}), testing::AllOf(HasSubstr("--size"), HasSubstr("16384")));
  EXPECT_THAT(Refusal({"p", "--epochs", "0"}), HasSubstr("--epochs"));
  EXPECT_THAT(Refusal({"p", "--batch-size", "many"}), HasSubstr("--batch-size"));
  EXPECT_THAT(Refusal({"p", "--mean", "0.5,0.5,0.5"}), HasSubstr("--dtype"));
  EXPECT_THAT(Refusal({"p", "--mean", "0.5", "--dtype", "float32"}), HasSubstr("--mean"));
  EXPECT_THAT(Refusal({"p", "--std", "0,1,1", "--dtype", "float32"}), HasSubstr("std"));
  EXPECT_THAT(Refusal({"p", "--no-such-option"}), HasSubstr("--no-such-option"));
}

TEST(RunOptions, WantAFolderOrAListAndNotBoth) {
  EXPECT_THAT(Refusal({}), HasSubstr("--list"));
  EXPECT_THAT(Refusal({"p", "--list", "l"}), HasSubstr("--list"));
  EXPECT_EQ(Parse({"--list", "l"}).list, "l");
}

TEST(RunOptions, GrayPicturesAreNormalisedWithOneValue) {
  const RunOptions options = Parse({"p", "--channels", "gray", "--dtype", "float16"});
  EXPECT_FLOAT_EQ(std::get<Normalize>(options.loader.recipe.ops.back()).mean[0], 0.449f);
}

}  // namespace
}  // namespace stoker
