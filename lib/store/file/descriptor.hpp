// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "layout.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <sys/stat.h>

namespace tenure::file
{

/** The failure of a system call that changed nothing.
 *  @param what  the attempt, such as "cannot open /run/tenure/app" */
[[nodiscard]] Failure failed_call(int error, std::string const& what);

/** Owns a file descriptor. Functions that fail leave the reason in `errno`. */
class Descriptor
{
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int number) noexcept
        : number_(number)
    {
    }
    Descriptor(Descriptor&& other) noexcept
        : number_(std::exchange(other.number_, -1))
    {
    }
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();

    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
    [[nodiscard]] int number() const noexcept { return number_; }
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

    /** Reads up to `bytes`; the rest of `to` becomes zero. False: an error. */
    [[nodiscard]] bool read_at(std::int64_t offset, void* to, std::size_t bytes) const noexcept;
    /** False: not everything was written. */
    [[nodiscard]] bool write_at(std::int64_t offset, void const* from, std::size_t bytes) const noexcept;

    template <class Value>
    [[nodiscard]] Value read(std::int64_t offset) const noexcept
    {
        static_assert(std::is_trivially_copyable_v<Value>);
        Value value;
        static_cast<void>(read_at(offset, &value, sizeof(value)));
        return value;
    }
    template <class Value>
    [[nodiscard]] bool write(std::int64_t offset, Value const& value) const noexcept
    {
        static_assert(std::is_trivially_copyable_v<Value>);
        return write_at(offset, &value, sizeof(value));
    }

    /** The number of names that the file has: 0 once it was deleted. */
    [[nodiscard]] bool deleted() const noexcept;
    [[nodiscard]] struct stat status() const noexcept;

    // -- locks of this open file (OFD): other descriptors of this process are strangers to it --

    /** Locks the area for writing, if no other open file has a lock there. Never waits. */
    [[nodiscard]] bool try_lock(Area area) const noexcept;
    /** Unlocks exactly what was locked. */
    void unlock(Area area) const noexcept;
    /** True if another open file has locked a part of the area. */
    [[nodiscard]] bool locked_elsewhere(Area area) const noexcept;

private:
    int number_ = -1;
};

/** A whole file, whatever its length. */
constexpr Area whole_file{0, 0};

/** Opens a file in a directory. Never follows a symbolic link, never waits for the other end of a FIFO. */
[[nodiscard]] Descriptor open_in(Descriptor const& directory, std::string const& name, int flags, unsigned mode = 0);

} // namespace tenure::file
