"""tf.data, with TensorFlow's decoder that decodes the crop's region alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from rival import AREA, MEAN, RATIO, RESIZED, SIZE, STD, Batch, Job

VERSIONS = f"tensorflow {tf.__version__}"
PROMISE = "decode of the crop's region, antialiased bilinear; two batches ahead"

_AHEAD = 2

tf.config.set_visible_devices([], "GPU")  # batches are to be in host memory


def _normalised(image: Any) -> Any:
    return tf.transpose((image / 255 - tf.constant(MEAN)) / tf.constant(STD), [2, 0, 1])


def _random_crop(path: Any, label: Any) -> tuple[Any, Any]:
    contents = tf.io.read_file(path)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(contents), tf.zeros([1, 0, 4]), area_range=AREA, aspect_ratio_range=RATIO,
        max_attempts=10, use_image_if_no_bounding_boxes=True)
    image = tf.io.decode_and_crop_jpeg(contents, tf.concat([begin[:2], size[:2]], 0), channels=3,
                                       dct_method="INTEGER_ACCURATE")
    image = tf.image.resize(image, [SIZE, SIZE], antialias=True)
    return _normalised(tf.image.random_flip_left_right(image)), label


def _center_crop(path: Any, label: Any) -> tuple[Any, Any]:
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="INTEGER_ACCURATE")
    height, width = tf.shape(image)[0], tf.shape(image)[1]
    short = tf.minimum(height, width)
    height, width = RESIZED * height // short, RESIZED * width // short
    image = tf.image.resize(image, [height, width], antialias=True)
    top, left = (tf.cast(tf.round((side - SIZE) / 2), tf.int32) for side in (height, width))
    return _normalised(image[top:top + SIZE, left:left + SIZE]), label


class Loader:
    def __init__(self, job: Job, picture: Callable[[Any, Any], tuple[Any, Any]], shuffle: bool) -> None:
        options = tf.data.Options()
        options.threading.private_threadpool_size = job.workers
        options.threading.max_intra_op_parallelism = 1
        options.deterministic = not shuffle
        dataset = tf.data.Dataset.from_tensor_slices((job.files, job.labels))
        if shuffle:
            dataset = dataset.shuffle(len(job.files))
        self.dataset = (dataset.map(picture, num_parallel_calls=job.workers)
                        .batch(job.batch_size, drop_remainder=True).prefetch(_AHEAD).with_options(options))

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.dataset.as_numpy_iterator())


def make(job: Job) -> Loader:
    return Loader(job, _random_crop, shuffle=True)


def fixed(job: Job) -> Loader:
    return Loader(job, _center_crop, shuffle=False)
