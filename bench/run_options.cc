#include "bench/run_options.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <stdexcept>

namespace stoker {
namespace {

constexpr int32_t kMaxSize = 16384;
// The mean over the colours of ImageNet's values, for gray pictures.
constexpr float kGrayMean = 0.449f;
constexpr float kGrayStd = 0.226f;

// A choice by name; what is not in the map is an error that lists what is.
template <typename T>
CLI::Option* AddChoice(CLI::App& command, const char* name, T& value, const std::map<std::string, T>& names,
                       const std::string& fallback, const std::string& help) {
  return command.add_option(name, value, help)
      ->take_last()
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case).description(""))
      ->option_text([&] {
        std::string text;
        for (const auto& [word, unused] : names) text += (text.empty() ? "" : "|") + word;
        return text + " [" + fallback + "]";
      }());
}

std::vector<float> ThreeOf(const std::vector<float>& given, const std::string& option, Channels channels) {
  const size_t wanted = channels == Channels::kGray ? 1 : 3;
  if (given.size() == wanted) return given;
  throw std::invalid_argument(
      fmt::format("{} has {} values (allowed: {}, one a channel, for values in 0..1)", option, given.size(), wanted));
}

// The library speaks of batch_size = 0, the command of --batch-size = 0.
std::string AsOption(const std::string& message) {
  std::string option = "--" + message;
  for (char& c : option) {
    if (c == ' ') break;
    if (c == '_') c = '-';
  }
  return option;
}

}  // namespace

void RunCommandLine::AddData(CLI::App& command) {
  command.add_option(
      "path", options_.path,
      "Folder with one sub-folder a class (names in byte order give the labels), or with pictures itself "
      "(label 0)");
  command
      .add_option("--list", options_.list,
                  "File of `path label` lines instead of a folder; the last field is the label")
      ->option_text("FILE");
  command
      .add_option("--classes", options_.classes,
                  "File of class names, one a line: gives validation the labels of training")
      ->option_text("FILE");
  command.add_flag("--allow-empty", options_.allow_empty,
                   "Class folders without a picture keep their label [an error]");
  command.add_option("--batch-size", options_.loader.batch_size, "Samples a batch, 1 to 65536")->option_text("N [64]");
  command.add_flag("--drop-last", options_.loader.drop_last,
                   "Drop the last, smaller batch: batch norm dislikes batches of one [kept]");
  command.add_flag("--shuffle,!--no-shuffle", options_.loader.shuffle, "Random order, another one each epoch [on]");
  command.add_option("--seed", options_.loader.seed, "Order and augmentation follow from it alone")
      ->option_text("N [0]");
  command.add_option("--rank", options_.loader.rank, "This process's part of the data, 0 to world-size - 1")
      ->option_text("N [0]");
  command.add_option("--world-size", options_.loader.world_size, "Parts that the data is split into")
      ->option_text("N [1]");
}

void RunCommandLine::AddPixels(CLI::App& command) {
  command
      .add_option("--transform", transform_,
                  "train: RandomResizedCrop, flip; eval: Resize, CenterCrop (torchvision's ImageNet recipes); none: "
                  "pictures as they are, all of one size")
      ->option_text("train|eval|none [train]")
      ->check(CLI::IsMember({"train", "eval", "none"}).description(""));
  command.add_option("--size", size_, "Side of the square that comes out, pixels, 1 to 16384")->option_text("N [224]");
  AddChoice<ElementType>(command, "--dtype", element_,
                         {{"uint8", ElementType::kUint8},
                          {"float16", ElementType::kFloat16},
                          {"bfloat16", ElementType::kBfloat16},
                          {"float32", ElementType::kFloat32}},
                         "uint8",
                         "Elements of the batch; uint8 moves a quarter of float32's bytes, floats are normalised");
  AddChoice<Layout>(command, "--layout", layout_, {{"nchw", Layout::kNchw}, {"nhwc", Layout::kNhwc}}, "nchw",
                    "Order of a batch's axes");
  command.add_option("--mean", mean_, "Subtracted from values in 0..1, floats only")
      ->delimiter(',')
      ->expected(1, 3)
      ->option_text("R,G,B [0.485,0.456,0.406]");
  command.add_option("--std", std_, "Divides them")
      ->delimiter(',')
      ->expected(1, 3)
      ->option_text("R,G,B [0.229,0.224,0.225]");
  AddChoice<Interpolation>(command, "--interpolation", interpolation_,
                           {{"nearest", Interpolation::kNearest},
                            {"bilinear", Interpolation::kBilinear},
                            {"bicubic", Interpolation::kBicubic}},
                           "bilinear", "Resampling filter, antialiased as Pillow's");
  AddChoice<DecodeMode>(command, "--decode", options_.loader.decode,
                        {{"exact", DecodeMode::kExact}, {"fast", DecodeMode::kFast}}, "exact",
                        "exact: the bits of a full decode; fast: large JPEGs at a smaller DCT scale");
  AddChoice<JpegEntropy>(
      command, "--entropy", options_.loader.limits.jpeg_entropy,
      {{"auto", JpegEntropy::kAuto}, {"own", JpegEntropy::kOwn}, {"library", JpegEntropy::kLibrary}}, "auto",
      "Who decodes JPEGs; the pixels are the same. auto: Stoker's own decoder, libjpeg-turbo what is odd or rare; own: "
      "such files are errors; library: libjpeg-turbo alone");
  AddChoice<Channels>(command, "--channels", channels_, {{"rgb", Channels::kRgb}, {"gray", Channels::kGray}}, "rgb",
                      "Colours that every picture is turned into");
  command.add_flag("--exif", options_.loader.limits.apply_exif,
                   "Turn pictures as their EXIF orientation says [ignored, as torchvision does]");
}

void RunCommandLine::AddKnobs(CLI::App& command) {
  command
      .add_option(
          "--num-workers", options_.loader.num_workers,
          "Decoding threads; 0 decodes on the reading thread; auto: what the caller keeps busy, up to as many as "
          "CPUs may be used")
      ->transform(CLI::Transformer(std::map<std::string, int32_t>{{"auto", kAutoWorkers}}).description(""))
      ->option_text("auto|N [auto]");
  command
      .add_option("--prefetch-factor", options_.loader.prefetch_factor,
                  "Batches ahead of the consumer, for all workers together, 1 to 64; more hides slower outliers")
      ->option_text("N [2]");
  AddChoice<ReaderKind>(command, "--reader", options_.loader.reader,
                        {{"auto", ReaderKind::kAuto}, {"io_uring", ReaderKind::kUring}, {"pread", ReaderKind::kPread}},
                        "auto", "auto: what the page cache holds at once, the rest by io_uring where it works");
  command
      .add_option("--queue-depth", options_.loader.queue_depth, "Reads in flight, 1 to 1024; cold storage wants many")
      ->option_text("N [32]");
}

void RunCommandLine::AddPipeline(CLI::App& command) {
  command
      .add_option(
          "--device", options_.loader.device,
          "Where batches go: cpu; cuda, cuda:N or a GPU's UUID; auto: a GPU where there is one, else cpu; sim: a "
          "modelled one")
      ->option_text("NAME [auto]");
  AddChoice<NormalizeOn>(
      command, "--normalize-on", options_.loader.normalize_on,
      {{"auto", NormalizeOn::kAuto}, {"host", NormalizeOn::kHost}, {"device", NormalizeOn::kDevice}}, "auto",
      "Where bytes become floats; auto: on the device where it can, so that a quarter crosses the bus");
  command
      .add_option("--index", options_.loader.index,
                  "Where the rows of JPEGs begin, learned for later epochs; a folder: kept there for later runs, too")
      ->option_text("off|memory|DIR [memory]");
  command.add_option("--memory-limit", memory_limit_, "For all buffers, such as 2GB; 0: a quarter of what is free")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->option_text("BYTES [0]");
  command.add_option("--step-ms", options_.step_ms, "Imitates a training step of that many milliseconds, 0 to 60000")
      ->option_text("MS [0]")
      ->check(CLI::Range(0.0, 60000.0).description(""));
}

void RunCommandLine::AddFaults(CLI::App& command) {
  AddChoice<OnError>(command, "--on-error", options_.loader.on_error,
                     {{"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"mask", OnError::kMask}}, "raise",
                     "A bad sample ends the run, is replaced by the next good one, or becomes zeros marked invalid");
  command
      .add_option("--max-errors", options_.loader.max_errors, "Different bad samples that are too many; -1: no limit")
      ->option_text("N [-1]");
  command.add_flag("--strict", options_.loader.limits.strict, "Decoder warnings are errors too [counted]");
  command
      .add_option("--max-pixels", options_.loader.limits.max_pixels,
                  "Larger pictures are errors, refused on their header (decompression bombs)")
      ->option_text("N [178956970]");
  command.add_option("--max-file-bytes", max_file_bytes_, "Larger files are errors, never read, such as 256MB")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->option_text("BYTES [256MB]");
  command
      .add_option("--read-deadline", options_.loader.read_deadline_seconds,
                  "Seconds until a read that hangs is its sample's error, 0.001 to 86400")
      ->option_text("S [30]");
}

void RunCommandLine::AddOutput(CLI::App& command) {
  command.add_option("--epochs", options_.epochs, "Passes over the data, 1 or more")
      ->option_text("N [1]")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40).description(""));
  command
      .add_option("--report-every", options_.loader.report_every,
                  "Steps between two lines of report on stderr; epochs end with one, too; 0: none")
      ->option_text("N [500]")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40).description(""));
  command.add_option("--report-file", options_.loader.report_file, "Add each of them to it as a line of JSON")
      ->option_text("FILE");
  command.add_option("--json", options_.json, "Write the report there too; - is standard output")->option_text("FILE");
  command
      .add_option("--trace", options_.trace,
                  "Write a trace of the last batches there at the end, for ui.perfetto.dev or chrome://tracing")
      ->option_text("FILE");
  command.add_option("--dump", options_.dump, "Write every batch as .npy files there, for comparison")
      ->option_text("DIR");
}

void RunCommandLine::AddJobTo(CLI::App& command) {
  AddData(command);
  AddPixels(command);
  AddPipeline(command);
  AddFaults(command);
}

void RunCommandLine::AddTo(CLI::App& command) {
  AddJobTo(command);
  AddKnobs(command);
  AddOutput(command);
}

Recipe RunCommandLine::MakeRecipe() const {
  if (size_ < 1 || size_ > kMaxSize) {
    throw std::invalid_argument(fmt::format("--size {} (allowed: 1 to {} pixels)", size_, kMaxSize));
  }
  Recipe recipe;
  if (transform_ == "train") recipe = TrainRecipe(size_, ElementType::kUint8, interpolation_);
  if (transform_ == "eval") recipe = EvalRecipe(size_, ElementType::kUint8, interpolation_);
  recipe.element = element_;
  recipe.layout = layout_;
  recipe.channels = channels_;
  const bool given = !mean_.empty() || !std_.empty();
  if (element_ == ElementType::kUint8) {
    if (given) throw std::invalid_argument("--mean and --std need a float --dtype (uint8 keeps 0..255)");
    return recipe;
  }
  if (transform_ == "none" && !given) return recipe;
  const bool gray = channels_ == Channels::kGray;
  const std::vector<float> default_mean =
      gray ? std::vector{kGrayMean} : std::vector(kImageNetMean.begin(), kImageNetMean.end());
  const std::vector<float> default_std =
      gray ? std::vector{kGrayStd} : std::vector(kImageNetStd.begin(), kImageNetStd.end());
  const std::vector<float> mean = ThreeOf(mean_.empty() ? default_mean : mean_, "--mean", channels_);
  const std::vector<float> std = ThreeOf(std_.empty() ? default_std : std_, "--std", channels_);
  Normalize normalize = {{0, 0, 0}, {1, 1, 1}};
  std::copy(mean.begin(), mean.end(), normalize.mean.begin());
  std::copy(std.begin(), std.end(), normalize.std.begin());
  recipe.ops.emplace_back(normalize);
  return recipe;
}

RunOptions RunCommandLine::Finish() const {
  RunOptions options = options_;
  if (options.path.empty() == options.list.empty()) {
    throw std::invalid_argument("give a folder, or --list FILE, and not both; see stoker run --help");
  }
  if (memory_limit_ > uint64_t{1} << 50 || max_file_bytes_ > uint64_t{1} << 40) {
    throw std::invalid_argument("--memory-limit and --max-file-bytes are at most 1 PB and 1 TB");
  }
  options.loader.memory_limit_bytes = static_cast<int64_t>(memory_limit_);
  options.loader.max_file_bytes = static_cast<int64_t>(max_file_bytes_);
  options.loader.recipe = MakeRecipe();
  options.size_from_first = transform_ == "none";
  try {
    Validate(options.loader);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(AsOption(error.what()));
  }
  // Checked here as well, so that a bad recipe is an option's error; the size is known only later under "none".
  (void)CompiledRecipe(options.loader.recipe, options.size_from_first ? std::optional(ImageSize{1, 1}) : std::nullopt);
  return options;
}

}  // namespace stoker
