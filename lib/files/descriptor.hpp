// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace tenure
{

/** Bytes of a file. */
struct Area {
    std::int64_t begin = 0;
    /// 0: to the end of the file and beyond
    std::int64_t length = 0;
};
constexpr Area whole_file{0, 0};

/** Throws the error in `errno`. @param attempt  such as "cannot open /run/tenure/app" */
[[noreturn]] void throw_errno(std::string const& attempt);

/** Owns the descriptor of a file or directory. All errors of these functions are std::system_error. */
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
    Descriptor(Descriptor const&) = delete;
    Descriptor& operator=(Descriptor const&) = delete;
    ~Descriptor();

    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
    [[nodiscard]] int number() const noexcept { return number_; }
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

    /** Opens a file of this directory; `errno` says why not. Never follows a symbolic link, never waits for the other
     *  end of a FIFO. */
    [[nodiscard]] Descriptor open(std::string const& name, int flags, unsigned mode = 0) const noexcept;
    /** The names in this directory, as far as it can be read. */
    [[nodiscard]] std::vector<std::string> names() const;

    /** Bytes beyond the end of the file are read as zeros. */
    void read_at(std::int64_t offset, void* to, std::size_t bytes) const;
    /** Fails if not everything was written. */
    void write_at(std::int64_t offset, void const* from, std::size_t bytes) const;
    template <class Value>
    [[nodiscard]] Value read(std::int64_t offset) const
    {
        Value value;
        read_at(offset, &value, sizeof(value));
        return value;
    }
    template <class Value>
    void write(std::int64_t offset, Value const& value) const
    {
        write_at(offset, &value, sizeof(value));
    }

    [[nodiscard]] struct stat status() const noexcept;
    /** True if the file has no name left. */
    [[nodiscard]] bool deleted() const noexcept { return status().st_nlink == 0; }

    // -- locks of this open file (OFD): other descriptors of this process are strangers to it --

    /** Locks the area for writing, if no other open file has a lock there. Never waits. */
    [[nodiscard]] bool try_lock(Area area) const;
    /** Unlocks exactly what was locked. */
    void unlock(Area area) const noexcept;
    /** True if another open file has locked a part of the file. */
    [[nodiscard]] bool locked_elsewhere() const noexcept;

private:
    int number_ = -1;
};

} // namespace tenure
