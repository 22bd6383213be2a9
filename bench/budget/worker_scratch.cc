#include "bench/budget/worker_scratch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "decode/image.h"

namespace stoker {
namespace {

// Of the resampler's rows and tables, for each pixel of the wider of the two rows: measured at shrink factors of 0.5 to
// 100, 40 to 80 bytes by the filter.
constexpr double kTableBytes = 64;

}  // namespace

Term WorkerScratch(const LoaderOptions& options, const CompiledRecipe& recipe, const PictureSizes& pictures) {
  const int workers = std::max(options.num_workers, 1);
  // Gray is made of colours after decoding, and a picture is turned after decoding: then there are two at a time.
  const bool gray = recipe.recipe().channels == Channels::kGray;
  const int images = gray || pictures.turned ? 2 : 1;
  ImageSize largest;
  double image_bytes = 0;
  for (const ImageSize& picture : pictures.sizes) {
    const auto bytes = static_cast<double>(Image::BytesFor(picture, 3));
    if (bytes <= image_bytes) continue;
    image_bytes = bytes;
    largest = picture;
  }
  const double table_bytes = kTableBytes * std::max(largest.width, recipe.spec().size.width);
  std::string formula = fmt::format(
      "{} x ({} x {:.0f} B + {} B + {:.0f} B): workers, each a decoded picture of {}x{}{}, what decoders hold and the "
      "resampler's tables",
      workers, images, image_bytes, pictures.decoder_bytes, table_bytes, largest.width, largest.height,
      images > 1 ? " twice, to turn or make gray" : "");
  const double worker_bytes = images * image_bytes + static_cast<double>(pictures.decoder_bytes) + table_bytes;
  if (pictures.sizes.empty()) formula = "not known: no picture could be read";
  return {"worker scratch", pictures.sizes.empty() ? 0 : workers * worker_bytes, std::move(formula), Place::kHost,
          true};
}

}  // namespace stoker
