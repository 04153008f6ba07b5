//! Values and contents of any type that serde supports: the feature `serde`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Result;

use super::{Doc, DocChange, NewDoc, NewTask, Task, TaskChange};

fn read<T: DeserializeOwned>(json: Option<&str>) -> Result<Option<T>> {
    json.map(serde_json::from_str).transpose()
}

impl Task {
    /// Its value as a type of your own, or `None` if it has none. Needs the feature `serde`.
    ///
    /// ```
    /// use millpond::tasks::NewTask;
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Order {
    ///     number: u32,
    /// }
    ///
    /// let order = NewTask::new("inbox").value_from(&Order { number: 7 })?;
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// store.modify(millpond::tasks::Modification::new().insert(order))?;
    /// let task = store.claim(["inbox"], millpond::tasks::LEASE_DEFAULT)?.expect("it was inserted");
    /// assert_eq!(task.value_as::<Order>()?.map(|order| order.number), Some(7));
    /// assert!(task.value_as::<Vec<u32>>().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The error of serde for a value of another type.
    pub fn value_as<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        read(self.value.as_deref())
    }
}

impl Doc {
    /// Its content as a type of your own, or `None` if it has none. Needs the feature `serde`.
    ///
    /// # Errors
    /// The error of serde for a content of another type.
    pub fn content_as<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        read(self.content.as_deref())
    }
}

/// The writing side, which is the same for all that is made.
macro_rules! writers {
    ($($type:ty: $method:ident by $setter:ident, $what:literal;)+) => {
        $(impl $type {
            #[doc = concat!("Its ", $what, ": this, written as JSON. Needs the feature `serde`.")]
            ///
            /// # Errors
            /// The error of serde for a value that JSON cannot represent.
            pub fn $method<T: Serialize + ?Sized>(self, value: &T) -> Result<Self> {
                Ok(self.$setter(serde_json::to_string(value)?))
            }
        })+
    };
}

writers! {
    NewTask: value_from by value, "value";
    TaskChange: value_from by value, "value";
    NewDoc: content_from by content, "content";
    DocChange: content_from by content, "content";
}
